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
