package cli

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/cli/command"
)

func TestFirstCardIsShort(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(firstCard), "\n")
	if len(lines) > 12 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if utf8.RuneCountInString(l) > 80 {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(l), l)
		}
	}
	for _, word := range []string{"fenced", "not fenced", "ringfence why", "ringfence grant", "ringfence log"} {
		if !strings.Contains(firstCard, word) {
			t.Errorf("it does not say %q", word)
		}
	}
}

func greet(c *command.Console) {
	if newcomer(c) {
		welcome(c)
	}
}

// TestWelcome: once, and only to a person.
func TestWelcome(t *testing.T) {
	home := t.TempDir()
	if got := shown(t, false, home, greet); got != "" {
		t.Errorf("a pipe is welcomed: %q", got)
	}
	if got := shown(t, true, home, greet); !strings.Contains(got, "Welcome") {
		t.Errorf("a person is not: %q", got)
	}
	if err := os.MkdirAll(home+"/.local/state/ringfence", 0o700); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, true, home, greet); got != "" {
		t.Errorf("twice: %q", got)
	}
}
