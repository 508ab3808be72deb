package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
)

// mcpServer speaks MCP on its standard input and output. It says whether it has its
// secret, and whether it sees what is not its own.
const mcpServer = `#!/bin/sh
see() { [ -e "$1" ] && echo there || echo absent; }
while read -r line; do
	id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sums","version":"1"}}' ;;
	*'"tools/list"'*) result='{"tools":[{"name":"add","description":"adds two numbers","inputSchema":{"type":"object","properties":{}}}]}' ;;
	*'"ping"'*) result='{}' ;;
	*'"tools/call"'*)
		key=wrong
		[ "$SUMS_TOKEN" != {CANARY} ] || key=right
		result="{\"content\":[{\"type\":\"text\",\"text\":\"{MARK} key=$key project=$(see {HOME}/src/one) ssh=$(see {HOME}/.ssh) token=${GITHUB_TOKEN-absent}\"}]}" ;;
	*) continue ;;
	esac
	[ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// mcpSettings are those of each agent on the host: one server that policy names, and
// one that it does not.
var mcpSettings = map[string][2]string{
	"claude": {".claude.json", `{"mcpServers": {"sums": {"command": "{HOME}/bin/sums", "env": {"SUMS_TOKEN": "{CANARY}"}},
		"left": {"command": "{HOME}/bin/sums", "args": ["{CANARY}"]}}}`},
	"codex": {".codex/config.toml", "[mcp_servers.sums]\ncommand = \"{HOME}/bin/sums\"\n[mcp_servers.sums.env]\nSUMS_TOKEN = \"{CANARY}\"\n" +
		"[mcp_servers.left]\ncommand = \"{HOME}/bin/sums\"\nargs = [\"{CANARY}\"]\n"},
	"gemini": {".gemini/settings.json", `{"mcpServers": {"sums": {"command": "{HOME}/bin/sums", "env": {"SUMS_TOKEN": "{CANARY}"}},
		"left": {"command": "{HOME}/bin/sums", "args": ["{CANARY}"]}}}`},
	"opencode": {".config/opencode/opencode.json", `{"mcp": {"sums": {"type": "local", "command": ["{HOME}/bin/sums"], "environment": {"SUMS_TOKEN": "{CANARY}"}},
		"left": {"type": "local", "command": ["{HOME}/bin/sums", "{CANARY}"]}}}`},
}

// toolName finds the name under which an agent tells its model of a tool; "" if it does
// not. Codex has a namespace for each server.
func toolName(asked, server, tool string) string {
	if found := regexp.MustCompile(`"([A-Za-z0-9_]*` + server + `_+` + tool + `)"`).FindStringSubmatch(asked); found != nil {
		return found[1]
	}
	space := "mcp__" + server
	if i := strings.Index(asked, `"name":"`+space+`"`); i >= 0 && strings.Contains(asked[i:], `"name":"`+tool+`"`) {
		return space + "/" + tool
	}
	return ""
}

// TestMCP: the real agents find the server that policy names, call it, and have neither
// its secret nor any other server; ringfence's own is there too.
func TestMCP(t *testing.T) {
	eachAgent(t, 0, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		p.pay()
		dir := p.project(t, "one")
		settings := mcpSettings[a.name]
		p.put(t, filepath.Join(p.home, settings[0]), settings[1])
		p.put(t, filepath.Join(p.home, "bin/sums"), mcpServer)
		p.put(t, filepath.Join(p.home, ".config/ringfence/policy.toml"), "[mcp.sums]\n")
		if err := os.Chmod(filepath.Join(p.home, "bin/sums"), 0o700); err != nil {
			t.Fatal(err)
		}
		asked := p.converse(t, dir, a.begin, firstPrompt, say("that is all"))
		add := toolName(asked, "sums", "add")
		if add == "" || toolName(asked, "ringfence", "policy_show") == "" {
			t.Fatalf("the model is not told of the tools: %v", toolsOf(asked))
		}
		if toolName(asked, "left", "add") != "" {
			t.Error("a server that policy does not name is there")
		}
		// An agent asks its model before a slow server has answered; then there is no such tool yet.
		for n := byte('0'); n < '9'; n++ {
			asked = p.converse(t, dir, a.beginOther(n), secondPrompt, use(model.Call{Tool: add, Input: map[string]any{}}), say("that is all"))
			if first, _, _ := strings.Cut(asked, "\n"); toolName(first, "sums", "add") != "" {
				break
			}
		}
		if want := p.mark + " key=right project=absent ssh=absent token=absent"; !strings.Contains(asked, want) {
			t.Errorf("the model was not answered %q, but %q", want, asked[max(0, len(asked)-2000):])
		}
	})
}

// beginOther begins a conversation that is not the first.
func (a agent) beginOther(n byte) []string {
	var out []string
	for _, arg := range a.begin {
		out = append(out, strings.Replace(arg, conversation, "7f0c2f8e-6d1f-4c39-9a51-3f8f2f6f2b2"+string(n), 1))
	}
	return out
}

// toolsOf lists the names in what was asked, for who looks for the fault.
func toolsOf(asked string) (names []string) {
	first, _, _ := strings.Cut(asked, "\n")
	var q struct {
		Tools []struct{ Name string }
	}
	if json.Unmarshal([]byte(first), &q) == nil {
		for _, tool := range q.Tools {
			names = append(names, tool.Name)
		}
	}
	return names
}
