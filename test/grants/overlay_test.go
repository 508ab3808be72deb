package grants

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// pane is a terminal that tmux draws.
type pane struct {
	t      *testing.T
	socket string
	w      *world.World
}

func newPane(t *testing.T, w *world.World, script string) *pane {
	t.Helper()
	dir, err := os.MkdirTemp(stage.Work, "tmux-")
	if err != nil {
		t.Fatal(err)
	}
	p := &pane{t, filepath.Join(dir, "s"), w}
	t.Cleanup(func() {
		p.tmux("kill-server")
		os.RemoveAll(dir)
	})
	w.Put("tui", []byte(script), 0o755)
	// The variables of tmux are not there: this is about any terminal.
	p.tmux("new-session", "-d", "-x", "80", "-y", "24", "-c", w.Dir, "env", "-u", "TMUX", "-u", "TMUX_PANE", stage.Ringfence, "run", "--yes", "--", "sh", "./tui")
	return p
}

func (p *pane) tmux(args ...string) string {
	cmd := exec.Command("tmux", append([]string{"-S", p.socket, "-f", "/dev/null"}, args...)...)
	whole := p.w.Command(p.t.Context(), "version")
	cmd.Dir, cmd.Env = whole.Dir, append(whole.Env, "TERM=xterm-256color")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// screen is all that is drawn, with its colours, and where the cursor is.
func (p *pane) screen() string {
	return p.tmux("capture-pane", "-p", "-e") + p.tmux("display-message", "-p", "#{cursor_x},#{cursor_y} #{alternate_on}")
}

func (p *pane) title() string {
	return strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_title}"))
}

// mainTUI reads single keys and draws on the main screen. It knocks when it is told to, and
// writes down the next key.
const mainTUI = `stty raw -echo; printf '\033[H\033[2J\033[1;31mred\033[m plain \033[7mreversed\033[m\r\n'
i=0; while [ $i -lt 12 ]; do printf 'line %d of the program\r\n' $i; i=$((i+1)); done
printf '\033[33myellow \033[4;9Hhere\033]2;working\007'
dd bs=1 count=1 >/dev/null 2>&1
bash -c 'exec 3<>/dev/tcp/` + public + `/443' 2>/dev/null &
dd bs=1 count=1 2>/dev/null | od -An -c >typed; wait; stty sane; echo over`

// TestOverlay: while a program has the screen the title and Ctrl-] r are how a person is
// asked. What the list has covered is afterwards as it was, to the byte, and the keys of
// the answer are not the program's.
func TestOverlay(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal(err)
	}
	w := world.New(t)
	p := newPane(t, w, mainTUI)
	wait.Eventually(t, "the program", func() bool { return strings.Contains(p.screen(), "here") && strings.HasSuffix(p.title(), " working") })
	before := p.screen()
	p.tmux("send-keys", "x")
	wait.Eventually(t, "the title", func() bool { return strings.HasPrefix(p.title(), "Ctrl-] r: a host is wanted [fenced] ") })
	if now := p.screen(); now != before {
		t.Errorf("the screen was touched:\n%s\nbefore:\n%s", now, before)
	}
	p.tmux("send-keys", "C-]", "r")
	wait.Eventually(t, "the list", func() bool {
		return strings.Contains(p.screen(), "ringfence: "+public+" is wanted") && !strings.Contains(p.screen(), "line 3")
	})
	p.tmux("send-keys", "n", "Enter")
	wait.Eventually(t, "the screen as it was", func() bool { return p.screen() == before })
	wait.Eventually(t, "the title as it was", func() bool {
		return strings.HasSuffix(p.title(), " working") && strings.HasPrefix(p.title(), "[fenced] ")
	})
	p.tmux("send-keys", "k")
	wait.Eventually(t, "what was typed", func() bool {
		b, _ := os.ReadFile(filepath.Join(w.Dir, "typed"))
		return strings.TrimSpace(string(b)) == "k"
	})
}
