package sessions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPause: a person is stopped by what a repository brings, once, and again when it
// has changed. Who leaves there has started nothing.
func TestPause(t *testing.T) {
	w := newWorld(t)
	settings := filepath.Join(w.project, ".mcp.json")
	write := func(text string) {
		if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	start := []string{"run", "--net", "none", "--", "sh", "-c", "touch started; cat .mcp.json; echo over"}
	const enter = "Press Enter to start"
	write(`{"mcpServers": {"a": {"command": "evil-tool"}}}`)

	p := w.sit(start...)
	p.sees(enter)
	p.mu.Lock()
	if said := p.seen.String(); !strings.Contains(said, "SC-003") || !strings.Contains(said, "evil-tool") {
		t.Errorf("a person is asked without being told: %s", said)
	}
	p.mu.Unlock()
	p.types("\x03")
	if status := p.leaves(); status == 0 {
		t.Error("left with status 0")
	}
	if _, err := os.Stat(filepath.Join(w.project, "started")); err == nil {
		t.Error("it started all the same")
	}

	p = w.sit(start...) // who left was shown it, and has not gone on
	p.sees(enter)
	p.types("\r")
	p.sees("over")
	if status := p.leaves(); status != 0 {
		t.Errorf("ended with %d", status)
	}

	for _, again := range []bool{false, true} {
		if again {
			write(`{"mcpServers": {"a": {"command": "evil-tool", "args": ["more"]}}}`)
		}
		p = w.sit(start...)
		if again {
			p.sees(enter)
			p.types("\r")
		}
		p.sees("over")
		p.leaves()
		if stopped := strings.Contains(p.seen.String(), enter); stopped != again {
			t.Errorf("stopped: %v, changed: %v\n%s", stopped, again, p.seen.String())
		}
	}

	write(`{"mcpServers": {"b": {"command": "evil-tool"}}}`)
	p = w.sit(append([]string{"run", "--yes"}, start[1:]...)...) // nobody is stopped who has said so
	p.sees("over")
	p.leaves()
	if said := p.seen.String(); strings.Contains(said, enter) || !strings.Contains(said, "SC-003") {
		t.Errorf("%s", said)
	}
}
