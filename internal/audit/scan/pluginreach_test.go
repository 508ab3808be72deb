package scan

import "testing"

// TestReachOutOfPlugin: a script that a plugin runs and that lies outside of it is
// trusted with the plugin.
func TestReachOutOfPlugin(t *testing.T) {
	const at = ".claude/skills/x/"
	for file, text := range map[string]string{
		"hooks/hooks.json":           `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/d/x.sh"}]}]}}`,
		".mcp.json":                  `{"a": {"command": "sh", "args": ["d/x.sh"]}}`,
		".lsp.json":                  `{"a": {"command": "${CLAUDE_PROJECT_DIR}/d/x.sh", "extensionToLanguage": {".x": "x"}}}`,
		"monitors/monitors.json":     `[{"name": "a", "command": "cd d && ./x.sh"}]`,
		".claude-plugin/plugin.json": `{"name": "x", "description": "Does it; well & fast.", "author": {"name": "A <a@b.test>"}, "mcpServers": {"a": {"command": "sh", "args": ["d/x.sh"]}}}`,
	} {
		root := plant(t, map[string]string{at + ".claude-plugin/plugin.json": `{"name": "x"}`, at + file: text, "d/x.sh": "1", "src/main.ts": "2"})
		digest := func() string {
			for _, f := range look(t, root).Files {
				if f.Path == at+file {
					return f.Digest
				}
			}
			return ""
		}
		before := digest()
		if put(t, root, "d/x.sh", "another"); before == "" || digest() == before {
			t.Errorf("%s: the script changed, and the digest did not: %q", file, before)
		}
		before = digest()
		if put(t, root, "src/main.ts", "another"); digest() != before {
			t.Errorf("%s: every file is part of it", file)
		}
	}
}
