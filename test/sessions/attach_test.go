package sessions

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// person sits at a terminal of their own.
type person struct {
	w   *world
	cmd *exec.Cmd
	pty *os.File

	mu   sync.Mutex
	seen bytes.Buffer
	done chan struct{}
}

func (w *world) sit(args ...string) *person {
	w.t.Helper()
	p := &person{w: w, cmd: w.command(args...), done: make(chan struct{})}
	master, err := pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	// Another descriptor, of the kind that Close ends a Read of.
	fd, err := unix.Dup(int(master.Fd()))
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	master.Close()
	p.pty = os.NewFile(uintptr(fd), "terminal")
	go func() {
		defer close(p.done)
		buf := make([]byte, 4096)
		for {
			n, err := p.pty.Read(buf)
			p.mu.Lock()
			p.seen.Write(buf[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() { p.pty.Close(); p.cmd.Process.Kill() })
	return p
}

func (p *person) types(s string) { p.pty.Write([]byte(s)) }

func (p *person) sees(text string) {
	p.w.t.Helper()
	wait.Eventually(p.w.t, text+" on the terminal", func() bool { return p.shows(text) })
}

func (p *person) shows(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.seen.String(), text)
}

// leaves waits for the end of the command and returns its status.
func (p *person) leaves() int {
	p.w.t.Helper()
	p.cmd.Wait()
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

func prompt() string {
	if os.Getuid() == 0 {
		return "# "
	}
	return "$ "
}

// TestAttach: a session outlives a detach, a hang-up and being taken over, and its
// status reaches who is attached when it ends.
func TestAttach(t *testing.T) {
	w := newWorld(t)
	p := w.sit("run", "--net", "none", "--yes", "--keep", "--name", "stays", "--", "bash", "--norc")
	p.sees(prompt())
	p.types("x=remembered; echo size $(stty size)\r")
	p.sees("size 30 100")
	p.types("\x1dd")
	p.sees("ringfence attach")
	if status := p.leaves(); status != 0 {
		t.Errorf("detached with status %d", status)
	}

	p = w.sit("attach", "stays")
	p.types("echo $x again\r")
	p.sees("remembered again")
	p.pty.Close() // the terminal is gone
	p.cmd.Wait()
	wait.Eventually(w.t, "the hang-up", func() bool { return !w.ps()[0].Attached })

	first := w.sit("attach", "stays")
	first.types("echo first $x\r")
	first.sees("first remembered")
	second := w.sit("attach", "stays")
	first.sees("was detached from elsewhere")
	if status := first.leaves(); status != 0 {
		t.Errorf("taken over with status %d", status)
	}
	second.types("echo second $x\r")
	second.sees("second remembered")
	w.must("detach", "stays")
	second.sees("was detached from elsewhere")

	last := w.sit("attach")
	last.types("exit 5\r")
	if status := last.leaves(); status != 5 {
		t.Errorf("the session ended with %d for who was attached", status)
	}
	if list := w.ps("-a"); len(list) != 1 || list[0].State != "ended" || list[0].Exit == nil || *list[0].Exit != 5 {
		t.Errorf("%+v", list)
	}
	w.must("rm", "stays")
}

// A session without --keep ends with its terminal.
func TestHangup(t *testing.T) {
	w := newWorld(t)
	p := w.sit("run", "--net", "none", "--yes", "--name", "goes", "--", "bash", "--norc")
	p.sees(prompt())
	if _, talk, status := w.try("attach", "goes"); status != 125 || !strings.Contains(talk, "needs a terminal") {
		t.Errorf("%d: %s", status, talk)
	}
	q := w.sit("attach", "goes")
	q.sees("belongs to the terminal it was started in")
	if status := q.leaves(); status != 125 {
		t.Errorf("attached to what cannot be: %d", status)
	}
	p.pty.Close()
	p.cmd.Wait()
	wait.Eventually(w.t, "the end", func() bool { return len(w.ps()) == 0 })
}

// TestExecTerminal: a shell beside the agent has a terminal, Ctrl-C reaches what runs
// in it and not the agent, and who goes away takes it along.
func TestExecTerminal(t *testing.T) {
	w := newWorld(t)
	id := w.must("run", "--net", "none", "-d", "--", "sleep", "1000")
	p := w.sit("exec", id, "--", "bash", "--norc")
	p.types("echo size $(stty size); tty\r")
	p.sees("size 30 100")
	p.sees("/dev/pts/")
	p.types("sleep 300 && echo not reached\r")
	wait.Eventually(w.t, "the sleep", func() bool { return strings.Contains(w.must("exec", id, "--", "ps", "ax"), "sleep 300") })
	p.types("\x03")
	p.types("echo status $?\r")
	p.sees("status 130")
	p.types("sleep 301\r")
	wait.Eventually(w.t, "the sleep", func() bool { return strings.Contains(w.must("exec", id, "--", "ps", "ax"), "sleep 301") })
	p.cmd.Process.Signal(syscall.SIGKILL)
	p.cmd.Wait()
	wait.Eventually(w.t, "the end of what ran there", func() bool { return !strings.Contains(w.must("exec", id, "--", "ps", "ax"), "sleep 301") })
	q := w.sit("exec", id, "--", "sh", "-c", "exit 3")
	if status := q.leaves(); status != 3 {
		t.Errorf("status %d", status)
	}
	r := w.sit("exec", id, "--", "sleep", "302")
	wait.Eventually(w.t, "the sleep", func() bool { return strings.Contains(w.must("exec", id, "--", "ps", "ax"), "sleep 302") })
	w.must("stop", id)
	if status := r.leaves(); status != 137 {
		t.Errorf("the session ended beneath it: status %d", status)
	}
	w.must("rm", id)
}

// Killed supervisors leave nothing that runs, whoever is attached.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	mark := fmt.Sprintf("sleep 1000.%d", os.Getpid()) // of nobody else on this machine
	w.must("run", "--net", "none", "-d", "--name", "dies", "--", "sh", "-c", mark+" & exec sed -u s,asked,answered,")
	p := w.sit("attach", "dies")
	p.types("asked\r") // who sees the answer is attached; before that, attach says another thing
	p.sees("answered")
	s := w.ps()[0]
	if err := unix.Kill(s.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.sees("is gone")
	if status := p.leaves(); status != 137 {
		t.Errorf("status %d", status)
	}
	wait.Eventually(w.t, "the end of what was inside", func() bool {
		out, err := exec.Command("pgrep", "-f", "^"+mark+"$").Output()
		return err != nil && len(out) == 0
	})
	wait.Eventually(w.t, "the word for it", func() bool {
		list := w.ps("-a")
		if len(list) != 1 { // at no moment
			t.Fatalf("%+v", list)
		}
		return list[0].State == "killed"
	})
	w.must("rm", "dies")
	if left := w.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
