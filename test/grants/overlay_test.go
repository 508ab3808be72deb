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

// newPane starts a script at a terminal that tmux draws. This is about any terminal, so
// the variables of tmux are not there.
func newPane(t *testing.T, w *world.World, script string) *screen.Pane {
	t.Helper()
	w.Put("tui", []byte(script), 0o755)
	return screen.NewPane(t, stage.Work, w.Command(t.Context(), "run", "--yes", "--", "sh", "./tui"), false)
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
	wait.Eventually(t, "the program", func() bool { return strings.Contains(p.Screen(), "here") && strings.HasSuffix(p.Title(), " working") })
	before := p.Screen()
	p.Do("send-keys", "x")
	wait.Eventually(t, "the title", func() bool { return strings.HasPrefix(p.Title(), "Ctrl-] r: a host is wanted [fenced] ") })
	if now := p.Screen(); now != before {
		t.Errorf("the screen was touched:\n%s\nbefore:\n%s", now, before)
	}
	p.Do("send-keys", "C-]", "r")
	wait.Eventually(t, "the list", func() bool {
		return strings.Contains(p.Screen(), "ringfence: "+public+" is wanted") && !strings.Contains(p.Screen(), "line 3")
	})
	p.Do("send-keys", "n", "Enter")
	wait.Eventually(t, "the screen as it was", func() bool { return p.Screen() == before })
	wait.Eventually(t, "the title as it was", func() bool {
		return strings.HasSuffix(p.Title(), " working") && strings.HasPrefix(p.Title(), "[fenced] ")
	})
	p.Do("send-keys", "k")
	wait.Eventually(t, "what was typed", func() bool {
		b, _ := os.ReadFile(filepath.Join(w.Dir, "typed"))
		return strings.TrimSpace(string(b)) == "k"
	})
	wait.Eventually(t, "the end", func() bool { return p.Ended() })
}
