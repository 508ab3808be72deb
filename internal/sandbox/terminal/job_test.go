package terminal

import (
	"fmt"
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
	s.line(supervisor + strings.Join(talker(t), " "))
	s.expect("ready 24 80")
	for rows := uint16(30); rows < 33; rows++ {
		s.send("\x1a")
		s.expect("Stopped")
		s.expect("P> ")
		s.line("stty -a")
		cooked(t, s.expect("P> "))
		s.resize(rows, 100)
		s.line("fg")
		s.expect(fmt.Sprintf("continued %d 100", rows))
		s.send("hello\r")
		s.expect("read hello")
	}
	s.send("\x04")
	s.expect("P> ")
	s.line("echo status $?")
	s.expect("status 7\r\n")
}

// TestSuspendModes: what the agent has on is off for the shell, and on again
// after fg, not after bg.
func TestSuspendModes(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + `sh -c 'printf "\033[?2004h\033[?25lready\n"; exec cat'`)
	s.expect("ready\r\n")
	s.send("\x1a")
	s.expect("\x1b[?25h\x1b[?2004l")
	s.expect("Stopped")
	s.expect("P> ")
	s.line("bg")
	s.line("jobs; echo 'done'")
	if text := s.expect("done\r\n"); !strings.Contains(text, "Running") || strings.Contains(text, "\x1b") {
		t.Errorf("in the background: %q", text)
	}
	s.line("fg")
	s.expect("\x1b[?25l\x1b[?2004h")
}

// TestSuspendDrains: what an agent printed before it stopped itself is seen
// before the shell's prompt.
func TestSuspendDrains(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + `sh -c 'head -c 300000 /dev/zero | tr "\0" x; echo end; kill -STOP $$; echo again'`)
	before := s.expect("Stopped")
	if n := strings.Count(before, "x"); n < 300000 || !strings.Contains(before, "end") {
		t.Errorf("%d of 300000 before the stop", n)
	}
	s.expect("P> ")
	s.line("fg")
	s.expect("again")
}

// TestStopFromOutside: SIGTSTP to the supervisor stops agent and job alike.
func TestStopFromOutside(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + strings.Join(talker(t), " "))
	s.expect("ready")
	if err := exec.Command("kill", "-TSTP", s.foreground()).Run(); err != nil {
		t.Fatal(err)
	}
	s.expect("Stopped")
	s.expect("P> ")
	s.line("fg")
	s.expect("continued")
	s.send("hello\r")
	s.expect("read hello")
}

// TestBackground: a job in the background prints and leaves the shell's
// terminal alone; brought to the foreground, it has the keys.
func TestBackground(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + strings.Join(talker(t), " ") + " &")
	s.expect("ready")
	s.line("stty -a; echo 'done'")
	cooked(t, s.expect("done\r\n"))
	s.line("fg")
	s.send("hello\r")
	s.expect("read hello")
}

// TestBackgroundAsksNothing: the answers of the terminal to a job in the background would
// be typed into the shell.
func TestBackgroundAsksNothing(t *testing.T) {
	s, supervisor := shell(t)
	s.line(supervisor + `sh -c 'printf "beg\033[c\033[5n\033[?1003h\033]11;?\007un\n"; read x; printf "\033[ca""sks\n"' &`)
	s.expect("begun")
	s.line("fg")
	s.send("\r")
	s.expect("\x1b[casks")
}

// TestOrphan: where no shell could continue the job Ctrl-Z does not freeze it.
func TestOrphan(t *testing.T) {
	s := newScreen(t)
	s.run(talker(t)...)
	s.expect("ready")
	s.send("\x1a")
	s.expect("continued")
	s.send("hello\r")
	s.expect("read hello")
	s.send("\x04")
	if status, _ := s.wait(); status != 7 {
		t.Errorf("status %d", status)
	}
}
