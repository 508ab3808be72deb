package agents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
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
	eachAgent(t, 1, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		p.pay()
		one, two := p.project(t, "one"), p.project(t, "two")
		p.expectOpen(t, one, two)
		before := p.snapshot(t)

		asked := p.converse(t, one, a.begin, firstPrompt, p.look(t, one, two, "")...)
		p.expectClosed(t, one)
		p.expectTold(t, asked)

		asked = p.converse(t, one, a.resume, secondPrompt, p.look(t, one, two, "kept")...)
		p.expectClosed(t, one)
		if first, _, _ := strings.Cut(asked, "\n"); !strings.Contains(first, firstPrompt) {
			t.Error("the conversation does not go on in the next session")
		}

		asked = p.converse(t, two, a.begin, otherPrompt, p.look(t, two, one, "")...)
		p.expectClosed(t, two)
		if strings.Contains(asked, firstPrompt) || strings.Contains(asked, secondPrompt) {
			t.Error("a conversation of one project is known in another")
		}
		if after := p.snapshot(t); !slices.Equal(before, after) {
			t.Errorf("HOME of the host changed:\nbefore %q\nafter  %q", before, after)
		}
	})
}

// look is what the model says in a session: to run the probe.
func (p *person) look(t *testing.T, here, other, kept string) []model.Turn {
	p.put(t, filepath.Join(here, "probe.sh"), p.probe(other, kept))
	p.put(t, filepath.Join(here, "canary.txt"), p.canary+"\n")
	return []model.Turn{use(p.agent.shell("sh ./probe.sh")), say("that is all")}
}

// converse holds one session and returns what the agent asked the model, one
// request a line.
func (p *person) converse(t *testing.T, dir string, how []string, prompt string, turns ...model.Turn) string {
	t.Helper()
	m := model.New(prompt, turns...)
	env := p.env
	defer func() { p.env = env }()
	p.hire(t, m)
	r := p.ringfence(t, dir, slices.Concat([]string{p.agent.name, "--"}, p.arguments(p.agent.args, how), []string{prompt})...)
	if r.status != 0 || !strings.Contains(r.stdout, "that is all") {
		t.Errorf("%q: status %d\n%s%s", prompt, r.status, r.stdout, r.stderr)
	}
	p.arrive(t, dir)
	p.expectBrokered(t, m)
	var asked strings.Builder
	for _, q := range m.Requests() {
		if q.Turn >= 0 {
			asked.Write(q.Body) // a line: what is JSON has no other
			asked.WriteByte('\n')
		}
	}
	if strings.Contains(asked.String(), p.canary) {
		t.Errorf("%q: the agent told the model a secret", prompt)
	}
	return asked.String()
}

// arguments fills in what depends on the person.
func (p *person) arguments(lists ...[]string) []string {
	var out []string
	for _, arg := range slices.Concat(lists...) {
		out = append(out, strings.ReplaceAll(arg, "{HOME}", p.home))
	}
	return out
}

// expectBrokered: every request had the real key and no other, and the agent never
// said it.
func (p *person) expectBrokered(t *testing.T, m *model.Model) {
	t.Helper()
	if len(m.Requests()) == 0 {
		t.Error("the model was asked nothing")
	}
	for _, q := range m.Requests() {
		p.expectKey(t, q)
		if bytes.Contains(q.Body, []byte(p.key)) {
			t.Errorf("%s %s: the agent knows the key", q.Method, q.Path)
		}
	}
}

// expectKey: a request came with the real key and no other.
func (p *person) expectKey(t *testing.T, q model.Request) {
	t.Helper()
	var keys []string
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Cookie"} {
		for _, v := range q.Head.Values(name) {
			keys = append(keys, strings.TrimPrefix(v, "Bearer "))
		}
	}
	if !slices.Equal(keys, []string{p.key}) {
		t.Errorf("%s %s came with the credentials %q", q.Method, q.Path, keys)
	}
}

// expectTold: the user's instructions and the note on the sandbox reached the
// model, and so did what the probe said at its end.
func (p *person) expectTold(t *testing.T, asked string) {
	for _, want := range []string{"Instructions: " + p.mark, "You run inside ringfence", probed("ringfence")} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model was not told %q", want)
		}
	}
}

// probed is what the probe says when it has come to its end.
func probed(host string) string { return fmt.Sprintf("probed by %d on %s", os.Getuid(), host) }

// expectClosed: the probe has nothing to complain of.
func (p *person) expectClosed(t *testing.T, dir string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "probe.txt"))
	if err != nil {
		t.Fatalf("the agent did not run the probe: %v", err)
	}
	if want := probed("ringfence") + "\n"; string(got) != want {
		t.Errorf("the probe says\n%swant\n%s", got, want)
	}
	if err := os.Remove(filepath.Join(dir, "probe.txt")); err != nil {
		t.Error(err)
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
	want := []string{probed(host), "state: none", "environment: canary", "present: " + other}
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
