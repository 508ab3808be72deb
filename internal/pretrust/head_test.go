package pretrust

import "testing"

// TestHeadOfALanguage: opencode runs a head that says it is JavaScript.
func TestHeadOfALanguage(t *testing.T) {
	const body = "\n{ description: EVIL() }\n---\nhello\n"
	for _, begin := range []string{"---js", "---javascript", "--- JS ", "---\tjs\r", "\ufeff---js", "\ufeff\ufeff---js", "---coffee", "---json", "\n---js", "\u200b---js"} {
		for _, at := range []string{".opencode/agent/x.md", ".opencode/command/x.md", ".opencode/mode/x.md", ".claude/skills/x/SKILL.md", ".agents/skills/x/SKILL.md"} {
			root := plant(t, map[string]string{at: begin + body})
			r := look(t, root)
			if got := shows(t, root, r); len(got) > 0 || !r.Dangerous() {
				t.Errorf("%q in %s: shown %q, dangerous %v", begin, at, got, r.Dangerous())
			}
		}
	}
	for _, text := range []string{"---\nname: a\n---\nhi\n", "---\r\nname: a\r\n---\r\nhi\r\n", "--- \nname: a\n---\nhi\n", "-----\nhi\n", "--\n", "# hi\n---js\n"} {
		if r := look(t, plant(t, map[string]string{".opencode/agent/x.md": text})); len(r.Findings) > 0 {
			t.Errorf("%q: %v", text, r.Findings[0].What)
		}
	}
}
