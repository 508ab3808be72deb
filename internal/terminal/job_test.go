package terminal

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// shell starts an interactive bash with job control on a terminal, and names the
// command that runs a supervisor.
func shell(t *testing.T) (*screen, string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(t)
	s.start(nil, bash, "--norc", "--noprofile", "--noediting", "-i")
	s.expect("P> ")
	return s, roleVar + "=supervisor " + self(t) + " "
}

// line sends a line to the shell and skips its echo.
func (s *screen) line(text string) {
	s.t.Helper()
	s.send(text + "\n")
	s.expect("\r\n")
}

// cooked fails unless what stty printed are the modes that a shell needs.
func cooked(t *testing.T, modes string) {
	t.Helper()
	for _, m := range []string{"icanon", "echo", "isig", "opost"} {
		if !slices.Contains(strings.Fields(modes), m) {
			t.Errorf("no %s for the shell: %s", m, modes)
		}
	}
}

// TestSuspend: Ctrl-Z stops the agent and the job, the shell has its terminal
// back, fg goes on with the new size, and the status passes through.
func TestSuspend(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + `bash -c 'trap "stty size" CONT; printf "\033[?2004h"; echo ready; read x; echo "read $x"; exit 7'`)
	s.expect("ready\r\n")
	s.send("\x1a")
	s.expect("\x1b[?2004l") // what the agent has on is off for the shell
	s.expect("Stopped")
	s.expect("P> ")

	s.line("stty -a")
	cooked(t, s.expect("P> "))
	s.resize(30, 100)
	s.line("jobs; echo 'done'")
	if jobs := s.expect("done\r\nP> "); !strings.Contains(jobs, "Stopped") {
		t.Errorf("jobs: %s", jobs)
	}

	s.line("fg")
	s.expect("\x1b[?2004h")
	s.expect("30 100")
	s.send("hello\r")
	s.expect("read hello")
	s.expect("P> ")
	s.line("echo status $?")
	s.expect("status 7\r\n")
}

// TestSuspendOften: stopping and going on can be repeated.
func TestSuspendOften(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + `bash -c 'trap "echo again" CONT; echo ready; while read x; do echo "read $x"; done'`)
	s.expect("ready\r\n")
	for range 3 {
		s.send("abc\r")
		s.expect("read abc\r\n")
		s.send("\x1a")
		s.expect("Stopped")
		s.expect("P> ")
		s.line("fg")
		s.expect("\r\nagain\r\n") // keys typed before this would still be the shell's
	}
	s.send("\x04")
	s.expect("P> ")
	s.line("echo status $?")
	s.expect("status 0\r\n")
}

// TestStopFromOutside: SIGTSTP to the supervisor stops agent and job alike.
func TestStopFromOutside(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + `bash -c 'trap "echo again" CONT; echo ready; while read x; do echo "read $x"; done'`)
	s.expect("ready\r\n")
	if err := exec.Command("kill", "-TSTP", s.foreground()).Run(); err != nil {
		t.Fatal(err)
	}
	s.expect("Stopped")
	s.expect("P> ")
	s.line("fg")
	s.expect("\r\nagain\r\n")
	s.send("abc\r")
	s.expect("read abc\r\n")
}

// TestBackground: a job in the background prints and leaves the shell's
// terminal alone; brought to the foreground, it has the keys.
func TestBackground(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + `sh -c 'echo ready; read x; echo "read $x"' &`)
	s.expect("ready\r")
	s.line("stty -a; echo 'done'")
	cooked(t, s.expect("done\r\n"))
	s.line("fg")
	s.expect("read x")
	s.send("hello\r")
	s.expect("read hello")
}

// TestOrphan: where no shell could continue the job Ctrl-Z does not freeze it.
func TestOrphan(t *testing.T) {
	s := newScreen(t)
	s.run("bash", "-c", `trap "echo again" CONT; echo ready; read x; echo "read $x"`)
	s.expect("ready\r\n")
	s.send("\x1a")
	s.expect("again\r\n")
	s.send("abc\r")
	s.expect("read abc\r\n")
	if status, _ := s.wait(); status != 0 {
		t.Errorf("status %d", status)
	}
}
