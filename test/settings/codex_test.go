package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var codex = receiver{
	name: "codex", file: ".codex/config.toml", seeds: 300, open: openCodex, generate: tomlFile, naive: naiveTOML,
	known: []string{
		"[mcp_servers.EVIL]\ncommand = \"EVIL\"\n", "[mcp_servers.\"EVIL\"]\ncommand = \"EVIL\"\n", "mcp_servers.EVIL.command = \"EVIL\"\n", "[\"mcp\\u005fservers\".EVIL]\ncommand = \"EVIL\"\n",
		"mcp_servers = { EVIL = { command = \"EVIL\" } }\n", "model = \"\"\"x\"\"\"\"\"\nnotify = [\"EVIL\"]\n", "model = '''x'''''\nnotify = [\"EVIL\"]\n", "# x\rnotify = [\"EVIL\"]\n",
		"model = \"a\"\r\n\r\n[ mcp_servers . EVIL ]\r\ncommand = 'EVIL'\r\n", "\ufeffnotify = [\"EVIL\"]\n", "# \u2028\nnotify = [\"EVIL\"]\n", "# x\u0085notify = [\"EVIL\"]\n", "\"notif\\u0079\" = [\"EVIL\"]\n",
		"\"notif\\x79\" = [\"EVIL\"]\n", "'notify' = [\"EVIL\"]\n", "notify = [ # ]\n \"EVIL\", ]\n", "model = \"\"\"\\\n  a\"\"\"\nnotify = [\"EVIL\"]\n", "model = \"\"\"\n[x]\n\"\"\"\nnotify = [\"EVIL\"]\n",
		"mcp_servers = {\n EVIL = { command = \"EVIL\" },\n}\n", "[[skills.config]]\npath = \"EVIL\"\nenabled = true\n", "[profiles.a]\nnotify = [\"EVIL\"]\n", "[features]\nEVIL = true\n",
		"x = 1979-05-27 07:32:00Z\nnotify = [\"EVIL\"]\n", "x = 07:32\nnotify = [\"EVIL\"]\n", "[a]\nb = 1\n[a.c]\n[mcp_servers.EVIL]\ncommand = \"EVIL\"\n", "model = \"\xff\"\nnotify = [\"EVIL\"]\n",
	},
}

// openCodex starts the real one, which tells the settings of a project that its user
// trusts as they are.
func openCodex(t *testing.T) func(*testing.T, string) []string {
	p := start(t, []string{"RUST_LOG=off"}, one(t, filepath.Join(modules(t), "@openai/codex-linux-*/vendor/*/bin/codex")), "app-server")
	if err := os.MkdirAll(filepath.Join(p.home, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	n := 0
	ask := func(method string, params any) map[string]any {
		n++
		line, err := json.Marshal(map[string]any{"id": n, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		p.say(t, string(line))
		for {
			if answer := decode(t, p.hear(t)); answer["id"] == float64(n) {
				return answer
			}
		}
	}
	ask("initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}})
	p.say(t, `{"method": "initialized"}`)
	return func(t *testing.T, project string) []string {
		put(t, p.home, ".codex/config.toml", fmt.Appendf(nil, "[projects.%q]\ntrust_level = \"trusted\"\n", project))
		result, ok := ask("config/read", map[string]any{"cwd": project, "includeLayers": true})["result"].(map[string]any)
		if !ok {
			return nil // it does not take the file
		}
		out := marked(result["config"], "model", "review_model", "model_reasoning_effort")
		layers, _ := result["layers"].([]any)
		for _, l := range layers {
			if layer, _ := l.(map[string]any); layer != nil {
				out = append(out, marked(layer["config"], "model", "review_model", "model_reasoning_effort")...)
			}
		}
		return out
	}
}

// naiveTOML looks for lines, as a quick judge would.
var plainTOML = regexp.MustCompile(`(?m)^\s*(\[+(mcp_servers|skills|profiles|features)\b|(notify|mcp_servers|profiles|features)\s*[.=])`)

func naiveTOML(text string) bool { return plainTOML.MatchString(text) }
