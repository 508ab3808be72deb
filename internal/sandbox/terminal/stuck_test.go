package terminal

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// TestHungTerminalIsGivenBack: a terminal that hangs at the end reads what gives it back
// when it goes on, and little else: the shell would get the answers to what the agent asked.
// The kernel lets nobody take back the 4096 bytes that are next to be read.
func TestHungTerminalIsGivenBack(t *testing.T) {
	user, tty, err := pty.Open()
	must(err)
	master, inside, err := pty.Open()
	must(err)
	for _, f := range []interface{ Close() error }{user, tty, master, inside} {
		defer f.Close()
	}
	relay, err := New(Config{In: tty, Out: tty, Master: master})
	must(err)
	relay.patience = 50 * time.Millisecond
	prints, reads := int(inside.Fd()), int(user.Fd())
	must(unix.SetNonblock(prints, true))
	must(unix.SetNonblock(reads, true))
	ran := make(chan error, 1)
	go func() { ran <- relay.Run(context.Background()) }()
	// Until nobody takes any more: the terminal reads nothing.
	for text := "\x1b[?1003h"; ; text = "\x1b[6n" {
		_, err := unix.Write(prints, []byte(text))
		if err == unix.EAGAIN && !ready(prints, unix.POLLOUT, time.Now().Add(5*time.Second)) {
			break
		}
	}
	relay.Finish()
	if err := <-ran; err != ErrStuck {
		t.Errorf("the relay ended with %v", err)
	}
	var seen []byte
	for buf := make([]byte, 64<<10); ; {
		n, err := unix.Read(reads, buf)
		if n <= 0 || err != nil {
			break
		}
		seen = append(seen, buf[:n]...)
	}
	if text := string(seen); !strings.HasSuffix(text, "\x1b[?1003l") || len(text) > 4096+32 {
		t.Errorf("the terminal was left with %d bytes: %.200q", len(text), text)
	}
}

// TestLastWords: what was printed by who had let go of the pty and opened it again is shown,
// also where the end comes before the relay has looked.
func TestLastWords(t *testing.T) {
	user, tty, err := pty.Open()
	must(err)
	master, inside, err := pty.Open()
	must(err)
	for _, f := range []interface{ Close() error }{user, tty, master, inside} {
		defer f.Close()
	}
	relay, err := New(Config{Out: tty, Master: master, Stays: true})
	must(err)
	relay.out, relay.ended = int(tty.Fd()), true
	_, err = inside.WriteString("last words")
	must(err)
	must(relay.last())
	if !ready(int(user.Fd()), unix.POLLIN, time.Now().Add(time.Second)) {
		t.Fatal("nothing is shown")
	}
	buf := make([]byte, 64)
	if n, err := user.Read(buf); err != nil || string(buf[:n]) != "last words" {
		t.Errorf("shown: %q, %v", buf[:n], err)
	}
}
