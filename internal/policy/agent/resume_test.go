package agent

import (
	"strings"
	"testing"
)

// TestResumed: what an agent prints at its end becomes a command of ours, and what is no id
// does not.
func TestResumed(t *testing.T) {
	for _, c := range []struct{ agent, printed, want string }{
		{"claude", "\nResume this session with:\nclaude --resume 0b7e2f4c-7a54-4d0e-9a3c-1f2e3d4c5b6a\n", "claude --resume 0b7e2f4c-7a54-4d0e-9a3c-1f2e3d4c5b6a"},
		{"codex", "To continue this session, run: codex resume 0199a213-81c0-7800-8aa1-bbab2a035a53\n", "codex resume 0199a213-81c0-7800-8aa1-bbab2a035a53"},
		{"gemini", "To resume this session: gemini --resume '0b7e2f4c-7a54-4d0e-9a3c-1f2e3d4c5b6a'", "gemini --resume 0b7e2f4c-7a54-4d0e-9a3c-1f2e3d4c5b6a"},
		{"opencode", "  Continue  opencode -s ses_5f3c1a2bffe8\n", "opencode -s ses_5f3c1a2bffe8"},
		{"claude", "claude --resume first-one-here claude --resume second-one-here", "claude --resume second-one-here"},
		{"claude", "claude --resume $(rm -rf ~)\n", ""},
		{"claude", "claude --resume --dangerously-skip-permissions\n", ""},
		{"claude", "claude --resume short\n", ""},
		{"claude", "claude --resume " + strings.Repeat("a", 65), ""},
		{"claude", "codex resume 0199a213-81c0-7800-8aa1-bbab2a035a53", ""},
		{"command", "claude --resume 0b7e2f4c-7a54-4d0e-9a3c-1f2e3d4c5b6a", ""},
	} {
		p, err := Load(c.agent, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Resumed(c.printed), " "); got != c.want {
			t.Errorf("%s: %q: %q, want %q", c.agent, c.printed, got, c.want)
		}
	}
}
