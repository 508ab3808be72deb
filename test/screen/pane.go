package screen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Pane is a terminal of 80 by 24 that tmux draws, with one program at it.
type Pane struct {
	socket string
	env    []string
	dir    string
	as     *syscall.SysProcAttr
}

// NewPane starts a program. Its server is private to the test, in a directory below work.
// The variables of tmux are not there unless the program is to know: then Inside says so.
func NewPane(t testing.TB, work string, cmd *exec.Cmd, inside bool) *Pane {
	t.Helper()
	place, err := os.MkdirTemp(work, "tmux-")
	if err != nil {
		t.Fatal(err)
	}
	p := &Pane{socket: filepath.Join(place, "s"), env: append(cmd.Env, "TERM=xterm-256color"), dir: cmd.Dir, as: cmd.SysProcAttr}
	if as := cmd.SysProcAttr; as != nil && as.Credential != nil {
		if err := os.Chown(place, int(as.Credential.Uid), int(as.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		p.Do("kill-server")
		os.RemoveAll(place)
	})
	start := []string{"new-session", "-d", "-x", "80", "-y", "24", "-c", cmd.Dir}
	if !inside {
		start = append(start, "env", "-u", "TMUX", "-u", "TMUX_PANE")
	}
	p.Do(append(start, cmd.Args...)...)
	return p
}

// Do runs a command of tmux.
func (p *Pane) Do(args ...string) string {
	cmd := exec.Command("tmux", append([]string{"-S", p.socket, "-f", "/dev/null"}, args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.dir, p.env, p.as
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// Screen is all that is drawn, with its colours, and where the cursor is.
func (p *Pane) Screen() string {
	return p.Do("capture-pane", "-p", "-e") + p.Do("display-message", "-p", "#{cursor_x},#{cursor_y} #{alternate_on}")
}

// Shows reports whether a text is on the screen, however it is spaced.
func (p *Pane) Shows(text string) bool {
	return strings.Contains(squeeze(p.Do("capture-pane", "-p")), squeeze(text))
}

// Title is that of the terminal.
func (p *Pane) Title() string {
	return strings.TrimSpace(p.Do("display-message", "-p", "#{pane_title}"))
}

// Ended holds when the program is gone.
func (p *Pane) Ended() bool { return !strings.Contains(p.Do("list-sessions"), "windows") }
