package faults

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// running is a session whose agent is at work.
type running struct {
	supervisor, first, agent, janitor int
}

// The agent at work has children in its own job, in a session of their own and
// orphaned, and does not mind being asked to leave.
const work = "sleep 600 & setsid sleep 600 & (setsid sleep 600 &) ; trap '' HUP TERM INT QUIT; echo ready; while :; do sleep 600; done"

// polite is the same and leaves when asked.
const polite = "sleep 600 & setsid sleep 600 & (setsid sleep 600 &) ; echo ready; wait"

// start launches script and returns when it says that it is ready.
func start(t *testing.T, script string, attr *syscall.ProcAttr, output io.Reader) running {
	t.Helper()
	attr.Dir, attr.Env = project, environ()
	pid, err := syscall.ForkExec(stage.Ringfence, []string{"ringfence", "run", "--yes", "--", "/bin/sh", "-c", script}, attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(killAll)
	for lines := bufio.NewScanner(output); ; {
		if !lines.Scan() {
			t.Fatal("the agent was never ready")
		}
		if strings.Contains(lines.Text(), "ready") {
			break
		}
	}
	r := running{supervisor: pid}
	r.first = one(firstOfSandbox)
	r.agent = one(func(p int) bool { return field(p, "PPid") == fmt.Sprint(r.first) && field(p, "Name") == "sh" })
	r.janitor = one(func(p int) bool {
		cmd, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		return strings.Contains(string(cmd), "__janitor")
	})
	if r.first == 0 || r.agent == 0 || len(pids()) < 6 {
		t.Fatalf("the session is not what it should be: %q", processes())
	}
	return r
}

// one finds a process, or 0.
func one(is func(pid int) bool) int {
	for _, pid := range pids() {
		if is(pid) {
			return pid
		}
	}
	return 0
}

// end waits until everything is gone, or reports what is not.
func (r running) end() (status syscall.WaitStatus, left []string) {
	left, _ = within(wait.Patience, func() error {
		for {
			var ws syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &ws, 0, nil)
			if pid == r.supervisor {
				status = ws
			}
			if err == syscall.ECHILD {
				return nil
			}
		}
	})
	return status, left
}

func code(ws syscall.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// TestCutShort ends a session at work in every way that comes from outside.
func TestCutShort(t *testing.T) {
	build(t)
	for _, c := range []struct {
		name, script string
		do           func(running)
		status       int
	}{
		{"supervisor killed", work, func(r running) { syscall.Kill(r.supervisor, syscall.SIGKILL) }, 137},
		{"PID 1 killed", work, func(r running) { syscall.Kill(r.first, syscall.SIGKILL) }, 137},
		{"agent killed", work, func(r running) { syscall.Kill(r.agent, syscall.SIGKILL) }, 137},
		{"supervisor killed while the agent is stopped", work, func(r running) {
			syscall.Kill(r.agent, syscall.SIGSTOP)
			syscall.Kill(r.supervisor, syscall.SIGKILL)
		}, 137},
		{"supervisor killed while PID 1 is stopped", work, func(r running) {
			syscall.Kill(r.first, syscall.SIGSTOP)
			syscall.Kill(r.supervisor, syscall.SIGKILL)
		}, 137},
		{"janitor killed, then asked to leave", polite, func(r running) {
			if r.janitor != 0 {
				syscall.Kill(r.janitor, syscall.SIGKILL)
			}
			syscall.Kill(r.supervisor, syscall.SIGTERM)
		}, 143},
		{"asked to leave", polite, func(r running) { syscall.Kill(r.supervisor, syscall.SIGTERM) }, 143},
		{"interrupted", polite, func(r running) { syscall.Kill(r.supervisor, syscall.SIGINT) }, 130},
		{"hung up on", polite, func(r running) { syscall.Kill(r.supervisor, syscall.SIGHUP) }, 129},
		{"hung up on, which the agent ignores", work, func(r running) { syscall.Kill(r.supervisor, syscall.SIGHUP) }, 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, eyes := look(t), newWatch(t, project)
			out := newSink(t)
			r := start(t, c.script, &syscall.ProcAttr{Files: []uintptr{0, out.w.Fd(), 2}}, out.r)
			c.do(r)
			status, left := r.end()
			out.text(t)
			left = slices.Concat(left, eyes.events(t), before.leftovers(t), again(t))
			if len(left) > 0 {
				t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
			}
			if code(status) != c.status {
				t.Errorf("status %d, want %d", code(status), c.status)
			}
		})
	}
}

// TestHungUpWhileItStarts: a hang-up that comes before there is an agent to be told is
// not lost.
func TestHungUpWhileItStarts(t *testing.T) {
	build(t)
	before := look(t)
	out := newSink(t)
	pid, err := syscall.ForkExec(stage.Ringfence, []string{"ringfence", "run", "--yes", "--", "/bin/sh", "-c", work},
		&syscall.ProcAttr{Dir: project, Env: environ(), Files: []uintptr{0, out.w.Fd(), 2}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(killAll)
	for one(firstOfSandbox) == 0 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
			t.Fatal("it has ended before it began")
		}
	}
	syscall.Kill(pid, syscall.SIGHUP)
	status, left := running{supervisor: pid}.end()
	out.text(t)
	if left = slices.Concat(left, before.leftovers(t), again(t)); len(left) > 0 {
		t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
	}
	if c := code(status); c != 129 && c != 137 { // whether the agent ignored it already or not
		t.Errorf("status %d", c)
	}
}

// TestTerminalClosed closes the user's terminal: the tree ends, whether the agent
// minds the hangup or not.
func TestTerminalClosed(t *testing.T) {
	build(t)
	for name, script := range map[string]string{"agent leaves": polite, "agent stays": work} {
		t.Run(name, func(t *testing.T) {
			before := look(t)
			master, slave, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			fd := slave.Fd()
			r := start(t, script, &syscall.ProcAttr{Files: []uintptr{fd, fd, fd},
				Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true}}, master)
			slave.Close()
			master.Close()
			_, left := r.end()
			if left = slices.Concat(left, before.leftovers(t), again(t)); len(left) > 0 {
				t.Errorf("left behind:\n  %s", strings.Join(left, "\n  "))
			}
		})
	}
}
