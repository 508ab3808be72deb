package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/loads"
)

// TestCanaries starts each agent in a folder that has one canary for everything that it
// loads from there and that runs unasked: without ringfence, where each runs, or it is
// no entry of the list; inside, where none does, though the host's own agent once
// trusted the folder; and inside once it is trusted, where each does.
func TestCanaries(t *testing.T) {
	eachAgent(t, 1, func(t *testing.T, a agent) {
		list, err := loads.Of(a.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := version(t, a); got != list.Version {
			t.Errorf("the list is of version %s, and %s is installed: read it again", list.Version, got)
		}
		want := list.Canaries()
		slices.Sort(want)

		out := newCage(t, a, list)
		out.sing(t, "without ringfence", false, patient)
		if got := out.sung(t); !slices.Equal(got, want) {
			t.Errorf("without ringfence %q run, want %q", got, want)
		}
		in := newCage(t, a, list)
		in.sing(t, "before it is trusted", true, brief)
		if got := in.sung(t); len(got) > 0 {
			t.Errorf("not trusted, %q run", got)
		}
		if env, err := os.ReadFile(filepath.Join(in.dir, "env.txt")); !strings.Contains(string(env), harmless[a.name]) {
			t.Errorf("not trusted, a harmless variable is not set: %s %v", env, err)
		}
		if r := in.ringfence(t, in.dir, "trust", "--yes"); r.status != 0 {
			t.Fatalf("trust: status %d\n%s%s", r.status, r.stdout, r.stderr)
		}
		in.sing(t, "once it is trusted", true, patient)
		if got := in.sung(t); !slices.Equal(got, want) {
			t.Errorf("trusted, %q run, want %q", got, want)
		}
	})
}

// harmless is a variable that a project may set for an agent's commands, trusted or not.
var harmless = map[string]string{"claude": "HARMLESS=kept"}

// cage is a person with a folder of canaries.
type cage struct {
	*person
	dir  string
	list loads.Agent
}

// past is what the host's own agent keeps of a folder that its user once trusted. That
// opencode asks no registry, for which it waits minutes before it loads plugins, is what
// the user set and shows.
var past = map[string]map[string]string{
	"claude": {".claude.json": `{"hasCompletedOnboarding": true, "projects": {"{DIR}": {"hasTrustDialogAccepted": true}}}`},
	"codex":  {".codex/config.toml": "[projects.\"{DIR}\"]\ntrust_level = \"trusted\"\n"},
	"gemini": {".gemini/trustedFolders.json": `{"{DIR}": "TRUST_FOLDER"}`},
	"opencode": {".config/opencode/.npmrc": "offline=true\n",
		".config/ringfence/policy.toml": "[files]\nread = [\"~/.config/opencode/.npmrc\"]\nexpose = [\"~/.config/opencode/.npmrc\"]\n"},
}

func newCage(t *testing.T, a agent, list loads.Agent) *cage {
	c := &cage{person: newPerson(t, a), list: list}
	c.pay()
	c.dir = c.project(t, "one")
	git(t, "init", "--quiet", c.dir)
	if err := list.Plant(c.dir); err != nil {
		t.Fatal(err)
	}
	for path, text := range past[a.name] {
		c.put(t, filepath.Join(c.home, path), strings.ReplaceAll(text, "{DIR}", c.dir))
	}
	return c
}

// How many tenths of a second those that start beside the conversation have: where all
// must run, as long as a slow machine may take, since it ends with the last of them;
// where none may, no longer than they take where they do.
const (
	patient = 1000
	brief   = 50
)

// sing holds a session in which the agent uses its tools: a command, and a new file.
func (c *cage) sing(t *testing.T, prompt string, inside bool, tenths int) {
	t.Helper()
	turns := []model.Turn{use(c.agent.shell("env >env.txt"))}
	if write := c.agent.tools[toolWrite]; write != nil {
		name := fmt.Sprintf("%s.canary", strings.ReplaceAll(prompt, " ", "-"))
		turns = append(turns, use(write(filepath.Join(c.dir, name), "hello\n")))
	}
	turns = append(turns, use(c.agent.shell(c.waits(tenths))), say("that is all"))
	m := model.New(prompt, turns...)
	env := c.env
	defer func() { c.env = env }()
	url := c.hire(t, m)
	var r result
	if inside {
		r = c.ringfence(t, c.dir, slices.Concat([]string{c.agent.name, "--"}, c.arguments(c.agent.args, c.agent.plain), []string{prompt})...)
	} else {
		fill := func(list []string) (out []string) {
			for _, s := range list {
				out = append(out, strings.ReplaceAll(s, "{URL}", url))
			}
			return out
		}
		c.env = append(c.env, fill(c.agent.bareEnv)...)
		c.demote(t) // the stage has the machine's own devices and system
		r = c.run(t, c.dir, filepath.Join(c.agents, ".bin", c.agent.name), slices.Concat(fill(c.arguments(c.agent.args, c.agent.bare, c.agent.plain)), []string{prompt})...)
	}
	if r.status != 0 || !strings.Contains(r.stdout, "that is all") {
		t.Fatalf("%s: status %d\n%s%s", prompt, r.status, r.stdout, r.stderr)
	}
}

// waits is a command that gives those that start beside the conversation the time to:
// until all of them ran, or a while.
func (c *cage) waits(tenths int) string {
	names := c.list.Canaries()
	var files []string
	for _, n := range names {
		files = append(files, loads.Ran(n))
	}
	return fmt.Sprintf("i=0; while [ $i -lt %d ] && [ $(ls %s 2>/dev/null | wc -l) -lt %d ]; do i=$((i+5)); sleep 0.5; done", tenths, strings.Join(files, " "), len(files))
}

// sung lists the canaries that ran, sorted, and clears them away.
func (c *cage) sung(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, name := range c.list.Canaries() {
		if err := os.Remove(filepath.Join(c.dir, loads.Ran(name))); err == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
