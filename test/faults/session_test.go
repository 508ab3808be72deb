package faults

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/stage"
)

// launch is a session that ran under the tracer.
type launch struct {
	*tracer
	stdout, stderr string
}

// agent starts a child that would run for long and then waits for its standard
// input to end: what survives a kill is still there to be found.
func agent() []string {
	return []string{stage.Ringfence, "run", "--yes", "--mask", "secret.txt", "--ro", "/srv/bin", "--",
		"/bin/sh", "-c", "echo ran; sleep 600 & read line; exit 3"}
}

// visitor decides what happens at a stop.
type visitor func(s stop, args [6]uint64) action

// follow runs one launch of the agent, on pipes, and visits the calls of one role. Its
// standard input ends when its child runs, so that an undisturbed session comes to its
// own end.
func follow(t *testing.T, who role, visit visitor) launch {
	t.Helper()
	in, hold := pipe(t)
	defer in.Close()
	stdout, stderr := newSink(t), newSink(t)
	l := launch{tracer: &tracer{victim: who, visit: visit, onAgent: func() { hold.Close() }}}
	l.trace(t, &syscall.ProcAttr{Files: []uintptr{in.Fd(), stdout.w.Fd(), stderr.w.Fd()}})
	hold.Close() // a second time does no harm
	l.stdout, l.stderr = stdout.text(t), stderr.text(t)
	return l
}

// followOnTerminal is follow on a terminal, where a line ends the input. The
// terminal stays open until everything is gone: it is not the hangup that ends it.
func followOnTerminal(t *testing.T, who role, visit visitor) launch {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	screen := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // the error is the end of a terminal
		screen <- string(text)
	}()
	l := launch{tracer: &tracer{victim: who, visit: visit, onAgent: func() { master.WriteString("\n") }}}
	fd := slave.Fd()
	l.trace(t, &syscall.ProcAttr{Files: []uintptr{fd, fd, fd}, Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true}})
	slave.Close()
	l.stderr = <-screen
	master.Close()
	return l
}

func (l *launch) trace(t *testing.T, attr *syscall.ProcAttr) {
	t.Helper()
	attr.Dir, attr.Env = project, environ()
	if err := l.run(agent(), attr); err != nil {
		t.Fatal(err)
	}
}

// sink takes what a process writes, which is less than a pipe holds.
type sink struct{ r, w *os.File }

func newSink(t *testing.T) sink {
	r, w := pipe(t)
	return sink{r, w}
}

// text returns what was written. It ends when no process holds the pipe.
func (s sink) text(t *testing.T) string {
	t.Helper()
	s.w.Close()
	defer s.r.Close()
	data, err := io.ReadAll(s.r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// again launches once more, undisturbed. It must work, and tidy up what an
// earlier launch left half done.
func again(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command(stage.Ringfence, "run", "--", "/bin/sh", "-c", "exit 3")
	cmd.Dir, cmd.Env = project, environ()
	out, _ := cmd.CombinedOutput()
	problems := stateProblems(t, stateDir, false)
	if status := cmd.ProcessState.ExitCode(); status != 3 {
		problems = append(problems, fmt.Sprintf("the next launch ended with %d: %s", status, out))
	}
	return problems
}

// forget removes the state of all projects, so that the next launch is a first.
func forget(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(stateDir); err != nil {
		t.Fatal(err)
	}
}
