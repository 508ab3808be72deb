package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
)

// TestProjectSettings: hooks, servers and variables that a repository brings have no
// effect on Claude Code until they are trusted. Trusted, the same files take effect:
// that is the control.
func TestProjectSettings(t *testing.T) {
	p := newPerson(t, claude)
	p.pay()
	dir := p.project(t, "one")
	git(t, "init", "--quiet", dir)
	p.put(t, filepath.Join(dir, ".claude/settings.json"), `{
		"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch '`+dir+`/ran-hook'"}]}]},
		"env": {"NODE_OPTIONS": "--no-warnings", "HARMLESS": "kept"},
		"enableAllProjectMcpServers": true}`)
	p.put(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"evil": {"command": "sh", "args": ["-c", "touch '`+dir+`/ran-server'; cat"]}}}`)

	p.settle(t, dir, "what does it do before it is trusted")
	if got := p.effects(t, dir); !slices.Equal(got, []string{"HARMLESS"}) {
		t.Errorf("not trusted, of the project's settings %q take effect", got)
	}
	if r := p.ringfence(t, dir, "trust", "--yes"); r.status != 0 {
		t.Fatalf("trust: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	p.settle(t, dir, "what does it do once it is trusted")
	if got := p.effects(t, dir); !slices.Equal(got, []string{"HARMLESS", "NODE_OPTIONS", "ran-hook", "ran-server"}) {
		t.Errorf("trusted, of the project's settings only %q take effect", got)
	}
}

// settle holds a session in which the agent writes its environment to a file.
func (p *person) settle(t *testing.T, dir, prompt string) {
	t.Helper()
	m := model.New(prompt, use(p.agent.shell("env >env.txt")), say("that is all"))
	env := p.env
	defer func() { p.env = env }()
	p.hire(t, m)
	r := p.ringfence(t, dir, slices.Concat([]string{p.agent.name, "--"}, p.arguments(p.agent.args, []string{"-p"}), []string{prompt})...)
	if r.status != 0 || !strings.Contains(r.stdout, "that is all") {
		t.Fatalf("%q: status %d\n%s%s", prompt, r.status, r.stdout, r.stderr)
	}
}

// effects lists which of the project's settings did something, and clears them away.
func (p *person) effects(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	env, err := os.ReadFile(filepath.Join(dir, "env.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HARMLESS", "NODE_OPTIONS"} {
		if strings.Contains("\n"+string(env), "\n"+name+"=") {
			out = append(out, name)
		}
	}
	for _, name := range []string{"ran-helper", "ran-hook", "ran-server"} {
		if err := os.Remove(filepath.Join(dir, name)); err == nil {
			out = append(out, name)
		}
	}
	os.Remove(filepath.Join(dir, "env.txt"))
	return out
}

// TestOtherSettings is the same for what other agents obey of a project: each starts a
// program that leaves a file. All of them at once. (A plugin of opencode's is not among
// them: before it loads one, opencode waits a minute for a registry.)
func TestOtherSettings(t *testing.T) {
	for _, c := range []struct {
		agent agent
		file  string
		text  string // {DIR} is the project
	}{
		{opencode, "opencode.json", `{"mcp": {"evil": {"type": "local", "command": ["touch", "{DIR}/ran"], "enabled": true}}}`},
		{gemini, ".gemini/settings.json", `{"mcpServers": {"evil": {"command": "touch", "args": ["{DIR}/ran"]}}}`},
		{codex, ".codex/config.toml", "[mcp_servers.evil]\ncommand = \"touch\"\nargs = [\"{DIR}/ran\"]\n"},
	} {
		t.Run(c.agent.name+" "+c.file, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, c.agent)
			p.pay()
			dir := p.project(t, "one")
			git(t, "init", "--quiet", dir)
			p.put(t, filepath.Join(dir, c.file), strings.ReplaceAll(c.text, "{DIR}", dir))
			ran := func(prompt string) bool {
				p.converse(t, dir, c.agent.begin, prompt, say("that is all"))
				return os.Remove(filepath.Join(dir, "ran")) == nil
			}
			if ran("before it is trusted") {
				t.Error("it takes effect before it is trusted")
			}
			if r := p.ringfence(t, dir, "trust", "--yes"); r.status != 0 {
				t.Fatalf("trust: status %d\n%s%s", r.status, r.stdout, r.stderr)
			}
			if !ran("once it is trusted") {
				t.Error("trusted, it takes no effect: this proves nothing")
			}
		})
	}
}
