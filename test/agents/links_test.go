package agents

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/loads"
)

// TestPluginBehindLinks: a plugin below skills that is a link, with links to its inside
// beside it, does not load before it is trusted.
func TestPluginBehindLinks(t *testing.T) {
	eachAgent(t, func(t *testing.T, a agent) {
		if a.name != "claude" {
			t.Skip("only Claude Code has such plugins")
		}
		list := loads.Agent{Name: "claude", Load: []loads.Load{{Canary: "linked"}}}
		plant := func(c *cage) {
			c.put(t, filepath.Join(c.dir, "plug/.claude-plugin/plugin.json"), `{"name":"plug","version":"1.0.0","description":"d"}`)
			c.put(t, filepath.Join(c.dir, "plug/hooks/hooks.json"), `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch `+filepath.Join(c.dir, loads.Ran("linked"))+`"}]}]}}`)
			if err := os.MkdirAll(filepath.Join(c.dir, ".claude/skills"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, to := range map[string]string{"z": "plug", "a": "plug/.claude-plugin", "b": "plug/hooks"} {
				if err := os.Symlink("../../"+to, filepath.Join(c.dir, ".claude/skills", name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		out := newCage(t, a, list)
		plant(out)
		out.sing(t, "without ringfence", false)
		if got := out.sung(t); !slices.Equal(got, []string{"linked"}) {
			t.Errorf("without ringfence %q run", got)
		}
		in := newCage(t, a, list)
		plant(in)
		in.sing(t, "before it is trusted", true)
		if got := in.sung(t); len(got) > 0 {
			t.Errorf("not trusted, %q run", got)
		}
	})
}
