package agent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostServers(t *testing.T) {
	argv, list := MCP{Shape: shapeArgv}, MCP{Shape: shapeList}
	for _, tt := range []struct {
		m      MCP
		f      MCPFrom
		text   string
		want   []HostServer
		broken bool
	}{
		{m: argv, f: MCPFrom{Path: "f", Format: "json", Key: []string{"projects", DirMark, "mcpServers"}},
			text: `{"projects": {"/w": {"mcpServers": {"a": {"command": "x", "args": ["-y", 7], "env": {"K": "v", "N": 1}}, "off": {"command": "x", "disabled": true}}}, "/other": {"mcpServers": {"b": {"command": "x"}}}}}`,
			want: []HostServer{{Name: "a", Argv: []string{"x", "-y"}, Env: map[string]string{"K": "v"}, Source: "f"}}},
		{m: argv, f: MCPFrom{Path: "f", Format: "toml", Key: []string{"mcp_servers"}}, text: "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.b]\nurl = \"https://h.test/mcp\"\n[mcp_servers.c]\ncommand = \"x\"\nenabled = false\n[mcp_servers.d]\nargs = [\"x\"]\n",
			want: []HostServer{{Name: "a", Argv: []string{"x"}, Env: map[string]string{}, Source: "f"}, {Name: "b", URL: "https://h.test/mcp", Kind: "url", Env: map[string]string{}, Source: "f"}}},
		{m: list, f: MCPFrom{Path: "f", Format: "json", Key: []string{"mcp"}}, text: `{"mcp": {"a": {"type": "local", "command": ["x", "y"], "environment": {"K": "v"}}, "b": {"type": "remote", "url": "https://h.test/?key=1"}, "c": {"type": "remote", "url": "https://h.test/", "headers": {"A": "b"}}, "d": 7}}`,
			want: []HostServer{{Name: "a", Argv: []string{"x", "y"}, Env: map[string]string{"K": "v"}, Source: "f"},
				{Name: "b", URL: "https://h.test/?key=1", Kind: "remote", Env: map[string]string{}, Source: "f", Secret: true, InURL: true},
				{Name: "c", URL: "https://h.test/", Kind: "remote", Env: map[string]string{}, Source: "f", Secret: true}}},
		{m: argv, f: MCPFrom{Path: "f", Format: "json", Key: []string{"mcpServers"}}, text: `{"mcpServers": []}`},
		{m: argv, f: MCPFrom{Path: "f", Format: "json", Key: []string{"mcpServers"}}, text: `{"mcpServers": `, broken: true},
	} {
		got, err := tt.m.Servers(tt.f, []byte(tt.text), "/w")
		if (err != nil) != tt.broken {
			t.Errorf("%s: %v", tt.text, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.text, d)
		}
	}
}

func TestFilled(t *testing.T) {
	env := map[string]string{"A": "1"}
	s := HostServer{Argv: []string{"${A}/x", "$A", "${B:-d}", "${B}"}, Env: map[string]string{"K": "${A}${B:-}"}}
	got := s.Filled(func(n string) string { return env[n] })
	if strings.Join(got.Argv, "|") != "1/x|$A|d|" || got.Env["K"] != "1" || s.Argv[0] != "${A}/x" {
		t.Errorf("%+v", got)
	}
}

// TestMCPEntries: what the agent is told holds the name of a server and nothing of it.
func TestMCPEntries(t *testing.T) {
	argv := []string{"/own/client", "sums"}
	text, err := MCP{Shape: shapeArgv, Key: "mcp_servers"}.TOML(map[string]any{"sums": MCP{Shape: shapeArgv}.Entry(argv)})
	if err != nil || string(text) != "[mcp_servers]\n[mcp_servers.sums]\nargs = ['sums']\ncommand = '/own/client'\n" {
		t.Errorf("%q %v", text, err)
	}
	list := MCP{Shape: shapeList, Key: "mcp"}
	text, err = list.JSON(map[string]any{"sums": list.Entry(argv), "far": list.Remote(HostServer{URL: "https://h.test/", Env: map[string]string{"K": "canary"}})})
	if err != nil || strings.Contains(string(text), "canary") || !strings.Contains(string(text), `"remote"`) {
		t.Errorf("%q %v", text, err)
	}
}

// An address that may hold a token is not told inside.
func TestMayBeSecret(t *testing.T) {
	for text, want := range map[string]bool{
		"https://mcp.zap.test/api/mcp/s/sk_live_51H0123456789abcdef/mcp": true,
		"https://mcp.zap.test/a8Fk29dLq0Zx7Pw3/mcp":                      true,
		"https://k3jd92kd0al2mz8q.zap.test/mcp":                          true,
		"https://u:p@h.test/":                                            true,
		"https://mcp.example.test/v1/mcp":                                false,
		"https://docs.example.test/some/long-path/of-words":              false,
	} {
		if got := MayBeSecret(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
