package grants

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// nested is a session in a tmux of the person's own, and the terminal at which that stands.
type nested struct {
	*screen.Pane
	socket string
	env    []string
}

// inTmux starts a script in a session, in tmux.
func inTmux(t *testing.T, w *world.World, script, path string) *nested {
	t.Helper()
	w.Put("tui", []byte(script), 0o755)
	place, err := os.MkdirTemp(stage.Work, "inner-")
	if err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(place, "conf")
	if err := os.WriteFile(conf, []byte("set -g status off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := w.Command(t.Context(), "run", "--yes", "--", "sh", "./tui")
	n := &nested{socket: filepath.Join(place, "s"), env: cmd.Env}
	args := append([]string{"-S", n.socket, "-f", conf, "new-session", "-c", cmd.Dir, "env", "PATH=" + path}, cmd.Args...)
	outer := exec.CommandContext(t.Context(), "tmux", args...)
	outer.Dir, outer.Env = cmd.Dir, cmd.Env
	n.Pane = screen.NewPane(t, stage.Work, outer, false)
	t.Cleanup(func() {
		n.inner("kill-server")
		os.RemoveAll(place)
	})
	return n
}

// inner runs a command of the person's tmux.
func (n *nested) inner(args ...string) string {
	cmd := exec.Command("tmux", append([]string{"-S", n.socket}, args...)...)
	cmd.Env = n.env
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func (n *nested) title() string {
	return strings.TrimSpace(n.inner("display-message", "-p", "#{pane_title}"))
}

// pane is what the session has drawn, whatever stands over it.
func (n *nested) pane() string {
	return n.inner("capture-pane", "-p", "-e") + n.inner("display-message", "-p", "#{cursor_x},#{cursor_y} #{alternate_on}")
}

// view is all that the person sees. Its colours are the pane's: tmux may set those of a
// space in another way when it draws it again.
func (n *nested) view() string { return n.Do("capture-pane", "-p") + n.pane() }

// asked waits until the program stands and a host is wanted, and returns the screen.
func (n *nested) asked(t *testing.T) (before string) {
	t.Helper()
	wait.Eventually(t, "the program", func() bool { return strings.Contains(n.Screen(), "here") && strings.HasSuffix(n.title(), " working") })
	before = n.view()
	n.Do("send-keys", "x")
	wait.Eventually(t, "the title", func() bool { return strings.HasPrefix(n.title(), "Ctrl-] r: a host is wanted [fenced] ") })
	return before
}

// over waits for the end of the question and of the program.
func (n *nested) over(t *testing.T, w *world.World, before string) {
	t.Helper()
	wait.Eventually(t, "the screen as it was", func() bool { return n.view() == before })
	wait.Eventually(t, "the title as it was", func() bool { return strings.HasPrefix(n.title(), "[fenced] ") })
	n.Do("send-keys", "k")
	wait.Eventually(t, "what was typed", func() bool {
		b, _ := os.ReadFile(filepath.Join(w.Dir, "typed"))
		return strings.TrimSpace(string(b)) == "k"
	})
	wait.Eventually(t, "the end", func() bool { return n.Ended() })
}

// TestPopup: inside tmux the list opens in a popup of tmux. The session's own screen is not
// touched, and nothing that is typed in the popup is the program's.
func TestPopup(t *testing.T) {
	w := world.New(t)
	n := inTmux(t, w, mainTUI, os.Getenv("PATH"))
	before := n.asked(t)
	pane := n.pane()
	n.Do("send-keys", "C-]", "r")
	wait.Eventually(t, "the list", func() bool { return n.Shows("ringfence: " + public + " is wanted") })
	if now := n.pane(); now != pane {
		t.Errorf("the session's screen was touched:\n%s\nbefore:\n%s", now, pane)
	}
	n.Do("send-keys", "what", "Enter")
	wait.Eventually(t, "the question again", func() bool { return n.Shows("none of the answers") })
	n.Do("send-keys", "n", "Enter")
	n.over(t, w, before)
}

// TestPopupLeft: Ctrl-C in the popup is no to all that waits, and closes it.
func TestPopupLeft(t *testing.T) {
	w := world.New(t)
	n := inTmux(t, w, mainTUI, os.Getenv("PATH"))
	before := n.asked(t)
	n.Do("send-keys", "C-]", "r")
	wait.Eventually(t, "the list", func() bool { return n.Shows("ringfence: " + public + " is wanted") })
	n.Do("send-keys", "C-c")
	n.over(t, w, before)
}

// TestPopupOfOldTmux: one that knows no popups leaves the list to us.
func TestPopupOfOldTmux(t *testing.T) {
	w := world.New(t)
	real, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.MkdirTemp(stage.Work, "old-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(old)
	script := "#!/bin/sh\ncase $1 in display-popup) echo unknown command: $1 >&2; exit 1;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(old, "tmux"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	n := inTmux(t, w, mainTUI, old+":"+os.Getenv("PATH"))
	before := n.asked(t)
	n.Do("send-keys", "C-]", "r")
	wait.Eventually(t, "the list", func() bool {
		return strings.Contains(n.pane(), "ringfence: "+public+" is wanted") && !strings.Contains(n.pane(), "line 3")
	})
	n.Do("send-keys", "n", "Enter")
	n.over(t, w, before)
}
