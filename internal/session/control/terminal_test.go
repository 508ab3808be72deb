package control

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// terminalPair is a real terminal: the held side, and the one that a session has.
func terminalPair(t *testing.T) (master, slave *os.File) {
	t.Helper()
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	s, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		t.Fatal(errno)
	}
	master, slave = os.NewFile(uintptr(m), "master"), os.NewFile(s, "slave")
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

func pair(t *testing.T) (ours, theirs *Conn) {
	t.Helper()
	ours, far, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	own, err := unix.Dup(int(far.Fd())) // Inherited closes what it is given, and so would far
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = Inherited(own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	ours.SetDeadline(time.Now().Add(wait.Patience))
	return ours, theirs
}

// expect reads frames until the output has text, or another frame comes.
func expect(t *testing.T, c *Conn, text string) (kind byte) {
	t.Helper()
	var seen strings.Builder
	for {
		kind, body, err := c.Receive()
		if err != nil {
			t.Fatalf("%v; wanted %q, saw %q", err, text, seen.String())
		}
		if kind != Output {
			return kind
		}
		seen.Write(body)
		if text != "" && strings.Contains(seen.String(), text) {
			return kind
		}
	}
}

func TestAttach(t *testing.T) {
	master, slave := terminalPair(t)
	first, theirs := pair(t)
	term := NewTerminal(master, theirs)
	io.WriteString(slave, "one\n")
	expect(t, first, "one")
	term.Began("id", "[fenced] id")
	if kind := expect(t, first, ""); kind != Began {
		t.Errorf("%c came where the beginning was due", kind)
	}
	first.Send(Keys, []byte("typed\n"))
	line := make([]byte, 16)
	if n, err := slave.Read(line); err != nil || string(line[:n]) != "typed\n" {
		t.Errorf("%q, %v", line[:n], err)
	}

	// The second takes over, and sees what was printed and the modes that are on.
	io.WriteString(slave, "\x1b[?2004h")
	expect(t, first, "\x1b[?2004h")
	second, theirs := pair(t)
	go term.Attach(theirs, 33, 99)
	if kind := expect(t, first, ""); kind != Taken {
		t.Errorf("the first was told %c", kind)
	}
	expect(t, second, "one")
	expect(t, second, "\x1b[?2004h")
	wait.Eventually(t, "the size", func() bool {
		ws, err := unix.IoctlGetWinsize(int(slave.Fd()), unix.TIOCGWINSZ)
		return err == nil && ws.Row == 33 && ws.Col == 99
	})
	if !term.Attached() || !term.Detach() || term.Detach() || term.Attached() {
		t.Error("detach")
	}
	if kind := expect(t, second, ""); kind != Taken {
		t.Errorf("the second was told %c", kind)
	}
}

// TestAttachAsksNothingOld: who attaches is shown what was printed, and his terminal is not
// asked what another was asked: the answers would be typed into the session.
func TestAttachAsksNothingOld(t *testing.T) {
	master, slave := terminalPair(t)
	term := NewTerminal(master, nil)
	slave.WriteString("\x1b[6n\x1b[cbefore\n")
	wait.Eventually(t, "the output", func() bool {
		term.mu.Lock()
		defer term.mu.Unlock()
		return strings.Contains(string(term.tail), "before")
	})
	ours, theirs := pair(t)
	go term.Attach(theirs, 24, 80)
	var seen strings.Builder
	for !strings.Contains(seen.String(), "\x1b]2;") { // the title comes behind it
		_, body, err := ours.Receive()
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(body)
	}
	if text := seen.String(); !strings.Contains(text, "before") || strings.Contains(text, "\x1b[6n") || strings.Contains(text, "\x1b[c") {
		t.Errorf("shown: %q", text)
	}
}

// Who went away does not stop the session, and the log has it all.
func TestAlone(t *testing.T) {
	master, slave := terminalPair(t)
	first, theirs := pair(t)
	term := NewTerminal(master, theirs)
	dir := t.TempDir()
	log, err := CreateLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	term.Record(log)
	first.Close()
	wait.Eventually(t, "the end of the attachment", func() bool { return !term.Attached() })
	for range 1000 {
		io.WriteString(slave, "a line of output that nobody reads\n")
	}
	last, theirs := pair(t)
	go term.Attach(theirs, 0, 0)
	expect(t, last, "nobody reads")
	io.WriteString(slave, "the end\n")
	slave.Close()
	done := make(chan struct{})
	go func() { term.Finish(9); close(done) }()
	if kind := expect(t, last, ""); kind != Exited {
		t.Errorf("%c came at the end", kind)
	}
	<-done
	r, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if n := bytes.Count(b, []byte("nobody reads")); err != nil || n != 1000 || !bytes.HasSuffix(b, []byte("the end\r\n")) {
		t.Errorf("%d lines, %v", n, err)
	}
}

// A log holds the last of what was printed, and a reader follows it over the turn.
func TestLogTurns(t *testing.T) {
	dir := t.TempDir()
	log, err := CreateLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	log.Write([]byte("first\n"))
	r, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	block := bytes.Repeat([]byte("0123456789abcde\n"), 1<<12)
	var want int
	read := 0
	for range 3 * logLimit / len(block) {
		log.Write(block)
		want += len(block)
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		read += len(b)
	}
	if read != want+len("first\n") {
		t.Errorf("%d bytes were read of %d", read, want)
	}
	size := int64(0)
	for _, name := range []string{logFile, logOld} {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	if size > 2*logLimit || size < logLimit {
		t.Errorf("%d bytes are kept", size)
	}
	if _, err := CreateLog(dir); err == nil {
		t.Error("a log that is there was taken for a new one")
	}
}

func TestDetacher(t *testing.T) {
	for _, c := range []struct {
		name, typed, pass string
		gone              bool
	}{
		{"text", "abc", "abc", false},
		{"detach", "ab\x1dd", "ab", true},
		{"detach, later text is lost", "\x1ddxyz", "", true},
		{"one Ctrl-]", "\x1d\x1d", "\x1d", false},
		{"Ctrl-] and another key", "\x1dx", "\x1dx", false},
		{"d alone", "d", "d", false},
		{"new keyboards", "\x1b[93;5ud", "", true},
		{"new keyboards, with the text", "\x1b[93;5u\x1b[93;5:3u\x1b[57442;1:3u\x1b[100;;100u", "", true},
		{"new keyboards, with NumLock", "\x1b[93;133u\x1b[93;133:3u\x1b[100;129u", "", true},
		{"new keyboards, another layout", "\x1b[93::91;5u\x1b[100::102;1:1u", "", true},
		{"new keyboards, Shift-D", "\x1b[93;5u\x1b[100:68;2;68u", "\x1b[93;5u\x1b[100:68;2;68u", false},
		{"new keyboards, with releases", "\x1b[93;5:1u\x1b[93;5:3u\x1b[57442;1:3ud", "", true},
		{"new keyboards, d as a sequence", "\x1b[93;5u\x1b[100u", "", true},
		{"an arrow", "\x1b[A", "\x1b[A", false},
	} {
		for _, split := range []bool{false, true} {
			d := terminal.Prefix{Letter: 'd'}
			var pass []byte
			gone := false
			for _, part := range parts(c.typed, split) {
				p, g := d.Run(part, false)
				pass, gone = append(pass, p...), gone || g
				if gone {
					break
				}
			}
			if string(pass) != c.pass || gone != c.gone {
				t.Errorf("%s (key by key: %v): passed %q, gone %v", c.name, split, pass, gone)
			}
		}
	}
}

// parts splits what is typed into keys.
func parts(s string, split bool) (out [][]byte) {
	if !split {
		return [][]byte{[]byte(s)}
	}
	for len(s) > 0 {
		n := 1
		if strings.HasPrefix(s, "\x1b[") {
			n = 2 + strings.IndexAny(s[2:], "uA~") + 1
		}
		out, s = append(out, []byte(s[:n])), s[n:]
	}
	return out
}

// In a paste the detach key is text, also where it was typed half before.
func TestDetachKeyInAPaste(t *testing.T) {
	d := terminal.Prefix{Letter: 'd'}
	d.Run([]byte("\x1d"), false)
	if pass, gone := d.Run([]byte("d\x1dd\x1d"), true); gone || string(pass) != "\x1dd\x1dd\x1d" {
		t.Errorf("%q, gone %v", pass, gone)
	}
	if pass, gone := d.Run([]byte("d"), false); gone || string(pass) != "d" {
		t.Errorf("after it: %q, gone %v", pass, gone)
	}
	if _, gone := d.Run([]byte("\x1dd"), false); !gone {
		t.Error("typed, it means nothing")
	}
}

// Who is taken over in the middle of a paste leaves no open paste to the next.
func TestPasteEndsWithItsClient(t *testing.T) {
	master, slave := terminalPair(t)
	first, theirs := pair(t)
	term := NewTerminal(master, theirs)
	if err := first.Send(Keys, []byte("\x1b[200~half\n")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(slave)
	if line, err := in.ReadString('\n'); err != nil || line != "\x1b[200~half\n" {
		t.Fatalf("%q, %v", line, err)
	}
	term.Detach()
	if kind := expect(t, first, ""); kind != Taken {
		t.Errorf("the first was told %c", kind)
	}
	wait.Eventually(t, "the end of the paste inside", func() bool { // as its terminal echoes it
		term.mu.Lock()
		defer term.mu.Unlock()
		return bytes.HasSuffix(term.tail, []byte("[201~"))
	})
}

// Whoever asks about a session does not wait for a client that takes nothing.
func TestHungClient(t *testing.T) {
	master, slave := terminalPair(t)
	_, theirs := pair(t)
	term := NewTerminal(master, theirs)
	go func() { // until the test closes the terminal
		for {
			if _, err := slave.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
				return
			}
		}
	}()
	wait.Eventually(t, "a full queue", func() bool {
		if !term.mu.TryLock() {
			return false
		}
		client := term.client
		term.mu.Unlock()
		client.mu.Lock()
		defer client.mu.Unlock()
		return client.held > queueLimit
	})
	if !term.Attached() || !term.Detach() || term.Attached() {
		t.Error("it was waited for")
	}
}
