package sessions

import (
	"fmt"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// TestLogsStopped: who stops the view of a session's output has a terminal that shows
// what the shell prints, and the view again when it goes on.
func TestLogsStopped(t *testing.T) {
	w := newWorld(t)
	w.must("run", "-d", "--net", "none", "--yes", "--name", w.pasted(), "--", "sh", "-c", `printf '\033[?1049h\033[?25l\033[8mhidden'; sleep 1000`)
	d := w.scripted()
	wait.Eventually(w.t, "a prompt", func() bool { return strings.Contains(d.screen(), "P1>") })
	d.types(fmt.Sprintf("%s logs -f %s\r", stage.Ringfence, w.pasted()))
	wait.Eventually(w.t, "the output", func() bool { return strings.Contains(d.screen(), "\x1b[8mhidden") })
	d.types("\x1a")
	wait.Eventually(w.t, "the shell", func() bool { return strings.Contains(d.screen(), "Stopped") })
	_, after, _ := strings.Cut(d.screen(), "hidden")
	before, _, _ := strings.Cut(after, "Stopped")
	for _, want := range []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[m"} {
		if !strings.Contains(before, want) {
			t.Errorf("%q is missing: %q", want, before)
		}
	}
	d.types("fg\r")
	wait.Eventually(w.t, "the view", func() bool {
		_, back, _ := strings.Cut(d.screen(), "Stopped")
		return strings.Contains(back, "\x1b[?25l")
	})
	d.types("\x03")
	wait.Eventually(w.t, "the prompt", func() bool {
		_, back, _ := strings.Cut(d.screen(), "Stopped")
		return strings.Count(back, "\x1b[?25h") > 0
	})
}
