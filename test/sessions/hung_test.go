package sessions

import (
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// TestHungTerminal: a terminal that takes no output keeps nobody from asking about the
// session, nor from ending it.
func TestHungTerminal(t *testing.T) {
	for name, flags := range map[string][]string{"started there": nil, "attached": {"--keep"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			id := w.pasted()
			cmd := w.command(append(append([]string{"run", "--net", "none", "--yes", "--name", id}, flags...), "--", "yes", strings.Repeat("x", 100))...)
			terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close() // nobody has read it
			full := 0
			wait.Eventually(w.t, "a full terminal", func() bool {
				was := full
				full, err = unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCINQ)
				return err == nil && full >= 4000 && full == was
			})
			list := w.ps()
			if len(list) != 1 || flags != nil && !list[0].Attached {
				t.Errorf("ps: %+v", list)
			}
			if line := w.must("status", id, "--line"); !strings.HasPrefix(line, "fenced") {
				t.Errorf("status: %s", line)
			}
			w.must("stop", "--time", "0", id)
			if len(w.ps()) != 0 {
				t.Error("it runs after stop")
			}
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
}

// TestExecEnds: exec ends with its command, whoever else holds the terminal, and says in
// the title whose it is.
func TestExecEnds(t *testing.T) {
	w := newWorld(t)
	// The agent draws a prompt on every terminal that it finds.
	w.must("run", "--net", "none", "-d", "--name", w.pasted(), "--", "sh", "-c",
		`while :; do for t in 0 1 2 3; do [ -c /dev/pts/$t ] && printf 'host$ ' >/dev/pts/$t; done; done 2>/dev/null`)
	p := w.sit("exec", w.pasted(), "--", "sh", "-c", `trap "" HUP; sleep 1000 & echo begun; exit 4`)
	if status := p.leaves(); status != 4 {
		t.Errorf("status %d", status)
	}
	p.sees("begun")
	p.sees("\x1b]2;[fenced] " + w.pasted() + " exec sh\a")
	w.must("stop", "--time", "0", w.pasted())
}
