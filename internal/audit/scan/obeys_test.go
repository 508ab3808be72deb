package scan

import (
	"slices"
	"testing"
)

// TestObeys: names are judged again during a session where a change can only be somebody
// else's, and directories where such a name may come with them.
func TestObeys(t *testing.T) {
	for rel, want := range map[string]bool{
		".mcp.json": true, ".claude/settings.json": true, "a/.claude/settings.local.json": true, ".claude/skills/x/.claude-plugin/plugin.json": true,
		".gemini/settings.json": true, ".codex/config.toml": true, "opencode.json": true, ".opencode/plugin/x.ts": true, ".git/config": true, ".env": true,
		"README.md": false, "CLAUDE.md": false, ".npmrc": false, ".vscode/tasks.json": false, ".env.example": false, "src/settings.json": false,
	} {
		if Obeys(rel, false) != want {
			t.Errorf("a file %q: %v", rel, !want)
		}
	}
	for rel, want := range map[string]bool{
		".claude": true, "a/.gemini": true, ".claude/skills/x": true, ".opencode/plugin": true, ".git": true, "src": false, "claude": false, ".vscode/x": false,
	} {
		if Obeys(rel, true) != want {
			t.Errorf("a directory %q: %v", rel, !want)
		}
	}
	for _, dir := range []string{".", ".claude", ".claude/skills", ".gemini", ".codex", ".opencode", ".opencode/plugin", ".git"} {
		if !slices.Contains(ObeyedDirs(), dir) {
			t.Errorf("%q is not watched", dir)
		}
	}
}
