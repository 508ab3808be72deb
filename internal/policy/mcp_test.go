package policy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/fault"
)

const serverText = `[mcp.forge]
command = ["npx", "-y", "forge", "-y"]
hosts = ["api.forge.test"]
read = ["~/docs"]
write = ["~/notes"]
env = ["FORGE_TOKEN", "MODE=quiet"]
secrets = ["forge"]
workspace = "ro"
drift = "tell"

[mcp.plain]

[mcp.ringfence]
off = true
`

func decodeText(t *testing.T, text string, project bool) *Policy {
	t.Helper()
	p, err := decodeLayer([]byte(text), "policy.toml", project)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestServers(t *testing.T) {
	p := decodeText(t, serverText, false)
	s := p.FindServer("forge")
	if s == nil || s.Source.Line != 1 || len(s.Command) != 4 || s.Sees() != SeesRead || !s.Tells() || s.Env[1].Source.Line != 6 {
		t.Fatalf("%+v", s)
	}
	if plain := p.FindServer("plain"); plain == nil || plain.Sees() != SeesNothing || plain.Tells() || plain.Hosts != nil {
		t.Errorf("%+v", plain)
	}
	if on := p.ServersOn(); len(on) != 2 || p.OwnServerOn() || !(&Policy{}).OwnServerOn() {
		t.Errorf("%+v", on)
	}
	var out bytes.Buffer
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	again := decodeText(t, out.String(), false)
	var twice bytes.Buffer
	if err := Write(&twice, again); err != nil {
		t.Fatal(err)
	}
	strip := func(b bytes.Buffer) (lines []string) { // sources differ
		for l := range strings.Lines(b.String()) {
			lines = append(lines, strings.TrimSpace(strings.Split(l, "#")[0]))
		}
		return lines
	}
	if d := cmp.Diff(strip(out), strip(twice)); d != "" {
		t.Error(d)
	}
}

func TestServersRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"[mcp.x]\ncomand = [\"a\"]\n":          `policy.toml:2: unknown key "comand"`,
		"[mcp.x]\ncommand = \"a\"\n":           "policy.toml:2:",
		"[mcp.x]\nworkspace = \"all\"\n":       "policy.toml:2:",
		"[mcp.x]\nhosts = [\"*\"]\n":           "policy.toml:2:",
		"[mcp.x]\nread = [\"rel\"]\n":          "policy.toml:2:",
		"[mcp.x]\nenv = [\"A\", \"A=b\"]\n":    "contradicts",
		"[mcp.x]\nenv = [\"1A\"]\n":            "policy.toml:2:",
		"[mcp.x]\n[mcp.x]\n":                   "duplicate table",
		"[mcp.\"../x\"]\n":                     "the name of an MCP server",
		"[mcp.x.env]\nA = \"b\"\n":             "there are no tables beneath [mcp.x]",
		"[mcp]\nx = 1\n":                       "a table, not an integer",
		"[mcp.ringfence]\ncommand = [\"a\"]\n": "ringfence's own server has one key",
		"hosts = [\"a\"]\n":                    "belongs under",
	} {
		_, err := decodeLayer([]byte(text), "policy.toml", false)
		if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(fault.HintOf(err), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestProjectServers: a project names no server, and can switch one off.
func TestProjectServers(t *testing.T) {
	if _, err := decodeLayer([]byte("[mcp.x]\ncommand = [\"id\"]\n"), ProjectFile, true); err == nil || !strings.Contains(err.Error(), ProjectFile+":2") {
		t.Errorf("a project's command: %v", err)
	}
	user := decodeText(t, serverText, false)
	project := decodeText(t, "[mcp.forge]\noff = true\n[mcp.more]\n[mcp.ringfence]\noff = false\n", true)
	for _, trusted := range []bool{false, true} {
		p, ignored := Resolve(Layers{User: user, Project: project, ProjectTrusted: trusted})
		if on := p.ServersOn(); len(on) != 1 || on[0].Name != "plain" || p.OwnServerOn() {
			t.Errorf("trusted %v: %+v", trusted, on)
		}
		if !trusted && len(ignored) != 2 {
			t.Errorf("ignored %v", ignored)
		}
	}
	ceiling := decodeText(t, "[mcp.plain]\noff = true\n", false)
	if p, _ := Resolve(Layers{User: user, Ceiling: ceiling}); len(p.ServersOn()) != 1 {
		t.Errorf("under a ceiling: %+v", p.ServersOn())
	}
}

// TestMergeServers: a later table is taken whole, an empty one takes nothing away.
func TestMergeServers(t *testing.T) {
	base := decodeText(t, serverText, false)
	p := Merge(base, decodeText(t, "[mcp.forge]\n[mcp.plain]\nhosts = [\"a.test\"]\n", false))
	if s := p.FindServer("forge"); len(s.Hosts) != 1 || s.Sees() != SeesRead {
		t.Errorf("%+v", s)
	}
	if s := p.FindServer("plain"); len(s.Hosts) != 1 {
		t.Errorf("%+v", s)
	}
	p = Merge(base, decodeText(t, "[mcp.forge]\ncommand = [\"x\"]\n", false))
	if s := p.FindServer("forge"); s.Hosts != nil || s.Secrets != nil || len(s.Command) != 1 {
		t.Errorf("%+v", s)
	}
	if got := Check(base, CheckEnv{Home: "/home/u"}); len(got) != 1 || !strings.Contains(got[0].Text, "secret forge") {
		t.Errorf("%v", got)
	}
}
