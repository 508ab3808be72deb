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

// TestDetachKeyInPaste: in a paste the detach key is text, and goes to the agent.
func TestDetachKeyInPaste(t *testing.T) {
	w := newWorld(t)
	const text = "\x1b[200~pasted \x1dd\x1b[201~"
	p := w.sit("run", "--net", "none", "--yes", "--keep", "--name", w.pasted(), "--", "sh", "-c",
		fmt.Sprintf(`stty raw -echo; printf "\033[?2004h"; echo w""aits; head -c %d >got; echo t""ook; exec sleep 1000`, len(text)))
	p.sees("waits")
	p.types(text)
	wait.Eventually(w.t, "an end of the paste", func() bool { return p.shows("took") || p.shows("ringfence attach") })
	if got, err := os.ReadFile(filepath.Join(w.project, "got")); string(got) != text {
		t.Fatalf("the agent got %q of the paste: %v", got, err)
	}
	p.types("\x1dd") // typed, it means what it says
	p.sees("ringfence attach")
}

// TestAnswersAfterDetach: what a terminal answers to the agent when the session has been
// detached is not typed into the shell that ringfence was started from.
func TestAnswersAfterDetach(t *testing.T) {
	const asks = 3
	w := newWorld(t)
	d := w.terminal(func(screen string) bool { // the last question is of ringfence's own
		return strings.Count(screen, askStatus) > asks || strings.Contains(screen, "begun")
	})
	wait.Eventually(w.t, "a prompt", func() bool { return strings.Contains(d.screen(), "P1>") })
	d.types(fmt.Sprintf("%s run --net none --yes --keep --name %s -- sh -c 'printf %q; exec sleep 1000'; echo be\"\"gun; cat >typed\r",
		stage.Ringfence, w.pasted(), strings.Repeat(`\033[5n`, asks)))
	wait.Eventually(w.t, "what the agent asks", func() bool { return strings.Count(d.screen(), askStatus) >= asks })
	w.must("detach", w.pasted())
	wait.Eventually(w.t, "the next command", func() bool { return strings.Contains(d.screen(), "begun") })
	wait.Eventually(w.t, "the answers", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.answer >= asks
	})
	d.types("end\r\x04")
	wait.Eventually(w.t, "the prompt", func() bool { return strings.Contains(d.screen(), "P2>") })
	if got, err := os.ReadFile(filepath.Join(w.project, "typed")); string(got) != "end\n" {
		t.Errorf("typed to the next command: %q, %v", got, err)
	}
}
