package agents

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// TestStart starts each agent as a person does, at a terminal and with a HOME full
// of credentials, until its first screen stands; then the terminal is closed.
func TestStart(t *testing.T) {
	kit := newKit(t)
	eachAgent(t, func(t *testing.T, a agent, u user) {
		p := kit.newPerson(t, a, u)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := p.command(ctx, p.project(t, "one"), filepath.Join(kit.bin, "ringfence"), a.name)
		master := openTerminal(t, cmd)
		defer master.Close()
		s := &screen{}
		shown := s.watch(master, a.screen)
		select {
		case <-shown:
		case <-ctx.Done():
		}
		if missing := s.missing(a.screen); len(missing) > 0 {
			t.Errorf("the first screen does not show %q:\n%s", missing, s.text())
		}
		if bytes.Contains(s.all.Bytes(), []byte(p.canary)) {
			t.Error("the screen shows a secret")
		}
		// A closed terminal ends it: Wait returns or the context kills it.
		master.Close()
		cmd.Wait()
		if ctx.Err() != nil {
			t.Error("it goes on without its terminal")
		}
	})
}

// openTerminal starts a command at a terminal of its own.
func openTerminal(t *testing.T, cmd *exec.Cmd) *os.File {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	blocking, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 40, Cols: 120}, cmd.SysProcAttr)
	if err != nil {
		t.Fatal(err)
	}
	defer blocking.Close()
	// To close a file that blocks would wait for the one who reads it.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "terminal")
}

// screen gathers what a terminal is sent.
type screen struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// watch reads until all of want was shown or the other side ended, then closes
// the channel; it goes on reading so that nobody has to wait.
func (s *screen) watch(from *os.File, want []string) <-chan struct{} {
	shown := make(chan struct{})
	go func() {
		done := sync.OnceFunc(func() { close(shown) })
		defer done()
		buf := make([]byte, 1<<16)
		for {
			n, err := from.Read(buf)
			s.mu.Lock()
			s.all.Write(buf[:n])
			s.mu.Unlock()
			if len(s.missing(want)) == 0 {
				done()
			}
			if err != nil {
				return
			}
		}
	}()
	return shown
}

// control matches what moves the cursor or sets colours.
var control = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`)

// text is what was shown, without spaces: some agents write none and move the
// cursor instead.
func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(strings.Fields(string(control.ReplaceAll(s.all.Bytes(), nil))), "")
}

// missing lists what was not shown so far.
func (s *screen) missing(want []string) []string {
	var missing []string
	text := s.text()
	for _, w := range want {
		if !strings.Contains(text, strings.ReplaceAll(w, " ", "")) {
			missing = append(missing, w)
		}
	}
	return missing
}
