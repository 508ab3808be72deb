package sessions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// TestExecKeepsTheTerminal: a command that closes its terminal and goes on does not make
// what is typed to it the commands of the shell that exec was started from.
func TestExecKeepsTheTerminal(t *testing.T) {
	w := newWorld(t)
	w.must("run", "-d", "--net", "none", "--yes", "--name", w.pasted(), "--", "sleep", "1000")
	d, canary, end := w.terminal(nil), filepath.Join(w.home, "canary"), filepath.Join(w.project, "end")
	wait.Eventually(w.t, "a prompt", func() bool { return strings.Contains(d.screen(), "P1>") })
	// It lets go of the terminal, says so, and ends when it is told to.
	d.types(fmt.Sprintf("%s exec %s -- sh -c 'echo w\"\"aits; exec <&- >&- 2>&-; touch closed; until test -e end; do sleep 0.1; done'\r", stage.Ringfence, w.pasted()))
	wait.Eventually(w.t, "the command without its terminal", func() bool {
		_, err := os.Stat(filepath.Join(w.project, "closed"))
		return err == nil && strings.Contains(d.screen(), "waits")
	})
	d.types(strings.Repeat("touch "+canary+"\r", 40))
	wait.Eventually(w.t, "all that is typed to the command", d.typed) // later it would be the shell's
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(w.t, "the prompt", func() bool { return strings.Contains(d.screen(), "P2>") })
	d.types("\x15echo the e''nd\r")
	wait.Eventually(w.t, "an answer of the shell", func() bool { return strings.Contains(d.screen(), "the end") })
	if _, err := os.Stat(canary); err == nil {
		t.Errorf("what was typed to the command ran on the host: %q", d.screen())
	}
}
