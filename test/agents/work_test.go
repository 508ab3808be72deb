package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is said in the conversations: one prompt must come back, and only there.
const (
	firstPrompt  = "look around in the first project"
	secondPrompt = "what did I ask before"
	otherPrompt  = "look around in another project"
)

// TestWork lets each agent work for the scripted model: twice in one project, once
// in another. What it finds is found by its own tools.
func TestWork(t *testing.T) {
	kit := newKit(t)
	eachAgent(t, func(t *testing.T, a agent, u user) {
		p := kit.newPerson(t, a, u)
		p.installModel(t)
		one, two := p.project(t, "one"), p.project(t, "two")
		p.expectOpen(t, one, two)
		before := p.snapshot(t)

		asked := p.converse(t, one, a.begin, firstPrompt, p.look(t, one, two, ""))
		p.expectClosed(t, one)
		p.expectTold(t, asked)
		if a.read != nil && !strings.Contains(asked, "File does not exist") {
			t.Error("the agent's own Read tool did not miss the key")
		}

		asked = p.converse(t, one, a.resume, secondPrompt, p.look(t, one, two, "kept"))
		p.expectClosed(t, one)
		if first, _, _ := strings.Cut(asked, "\n"); !strings.Contains(first, firstPrompt) {
			t.Error("the conversation does not go on in the next session")
		}

		asked = p.converse(t, two, a.begin, otherPrompt, p.look(t, two, one, ""))
		p.expectClosed(t, two)
		if strings.Contains(asked, firstPrompt) || strings.Contains(asked, secondPrompt) {
			t.Error("a conversation of one project is known in another")
		}
		if after := p.snapshot(t); !slices.Equal(before, after) {
			t.Errorf("HOME of the host changed:\nbefore %q\nafter  %q", before, after)
		}
	})
}

// installModel puts the scripted model where the agent is looked for first.
func (p *person) installModel(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(p.kit.bin, "model"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.home, ".local/bin", p.agent.name)
	p.put(t, path, string(data))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// look is what the model says in a session: to run the probe and to read the key.
func (p *person) look(t *testing.T, here, other, kept string) []turn {
	p.put(t, filepath.Join(here, "probe.sh"), p.probe(other, kept))
	p.put(t, filepath.Join(here, "canary.txt"), p.canary+"\n")
	turns := []turn{p.agent.shell("sh ./probe.sh")}
	if p.agent.read != nil {
		turns = append(turns, p.agent.read(filepath.Join(p.home, ".ssh/id_ed25519")))
	}
	return append(turns, turn{Text: "that is all"})
}

// converse holds one session and returns what the agent asked the model, one
// request a line.
func (p *person) converse(t *testing.T, dir string, how []string, prompt string, turns []turn) string {
	script, err := json.Marshal(map[string]any{"Agent": filepath.Join(p.kit.agents, ".bin", p.agent.name), "Env": p.agent.env, "Turns": turns})
	if err != nil {
		t.Fatal(err)
	}
	p.put(t, filepath.Join(dir, ".model.json"), string(script))
	args := append([]string{p.agent.name, "--ro", p.kit.agents, "--"}, p.agent.args...)
	args = append(append(args, how...), prompt)
	r := p.ringfence(t, dir, args...)
	if r.status != 0 || !strings.Contains(r.stdout, "that is all") {
		t.Errorf("%q: status %d\n%s%s", prompt, r.status, r.stdout, r.stderr)
	}
	asked, err := os.ReadFile(filepath.Join(dir, ".model.log"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(asked, []byte(p.canary)) {
		t.Errorf("%q: the agent told the model a secret", prompt)
	}
	return string(asked)
}

// expectTold: the user's instructions and the note on the sandbox reached the
// model, and so did what the probe said at its end.
func (p *person) expectTold(t *testing.T, asked string) {
	for _, want := range []string{"Instructions: " + p.mark, "You run inside ringfence", p.probed("ringfence")} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
}

// probed is what the probe says when it has come to its end.
func (p *person) probed(host string) string {
	return fmt.Sprintf("probed by %d on %s", p.user.uid, host)
}

// expectClosed: the probe has nothing to complain of.
func (p *person) expectClosed(t *testing.T, dir string) {
	got, err := os.ReadFile(filepath.Join(dir, "probe.txt"))
	if err != nil {
		t.Fatalf("the agent did not run the probe: %v", err)
	}
	if want := p.probed("ringfence") + "\n"; string(got) != want {
		t.Errorf("the probe says\n%swant\n%s", got, want)
	}
}

// expectOpen is the control: outside, the same probe complains of everything.
func (p *person) expectOpen(t *testing.T, dir, other string) {
	p.look(t, dir, other, "kept")
	r := p.run(t, dir, "/bin/sh", "./probe.sh")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{p.probed(host), "state: none", "environment: canary", "present: " + other}
	for _, files := range []map[string]string{p.agent.hidden, hiddenFromAll} {
		for path := range files {
			want = append(want, "present: "+filepath.Join(p.home, path), "canary: "+filepath.Join(p.home, path))
		}
	}
	for path := range p.agent.masked {
		want = append(want, "not covered: "+filepath.Join(p.home, path), "writable: "+p.beside(path))
	}
	for path := range p.agent.shown {
		want = append(want, "writable: "+filepath.Join(p.home, path))
	}
	for _, w := range want {
		if !strings.Contains(r.stdout, w+"\n") {
			t.Errorf("outside, the probe does not say %q:\n%s%s", w, r.stdout, r.stderr)
		}
	}
}
