package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
)

// A conversation that was begun outside goes on inside, and one that goes on inside is taken
// up outside, by the real agent on both sides. The control is the same without the setting.
func TestSharedHistory(t *testing.T) {
	for _, shared := range []bool{true, false} {
		t.Run(map[bool]string{true: "shared", false: "private"}[shared], func(t *testing.T) {
			t.Parallel()
			sharedHistory(t, shared)
		})
	}
}

func sharedHistory(t *testing.T, shared bool) {
	p := newPerson(t, claude)
	p.pay()
	if shared {
		p.put(t, filepath.Join(p.home, ".config/ringfence/policy.toml"), "[agent]\nhistory = \"shared\"\n")
	}
	dir := p.project(t, "with.dots_and spaces")
	r, _ := p.outside(t, dir, claude.begin, firstPrompt)
	if r.status != 0 {
		t.Fatalf("outside: %+v", r)
	}

	r, asked := p.inside(t, dir, claude.resume, secondPrompt)
	if found := r.status == 0 && strings.Contains(asked, firstPrompt); found != shared {
		t.Fatalf("inside the conversation of outside is found: %v\n%s%s", found, r.stdout, r.stderr)
	}
	if !shared {
		return
	}

	r, asked = p.outside(t, dir, claude.resume, otherPrompt)
	if r.status != 0 || !strings.Contains(asked, secondPrompt) {
		t.Errorf("outside what was said inside is not known: %+v", r)
	}
	if strings.Contains(p.everything(t, dir), p.canary) {
		t.Error("what is of other projects came inside")
	}

	p.asksAsEver(t, dir)
	id := session(t, p, dir)
	r = p.ringfence(t, dir, "history")
	if !strings.Contains(r.stdout, conversation) || !strings.Contains(r.stdout, id) {
		t.Errorf("it is not told: %+v", r)
	}
	// The host's agent has gone on since, and that is left alone.
	if r = p.ringfence(t, dir, "history", "--take-back", id); r.status != 1 || !strings.Contains(r.stderr, "changed since") {
		t.Errorf("what was changed since is taken back: %+v", r)
	}
}

// asksAsEver: the conversation was held inside by an agent that asks nobody. Taken up
// outside without that flag, the agent does not run what the model wants: the transcript
// does not say how much it may do. The control has the flag.
func (p *person) asksAsEver(t *testing.T, dir string) {
	t.Helper()
	p.claimFreedom(t)
	for _, free := range []bool{false, true} {
		name := map[bool]string{false: "asked", true: "free"}[free]
		args := claude.args
		if !free {
			args = nil
		}
		m := model.New(secondPrompt, use(claude.shell("touch "+name)), say("that is all"))
		was := p.env
		p.env = append(slices.Clone(was), claude.bareEnv...)
		p.hire(t, m)
		r := p.run(t, dir, filepath.Join(p.agents, ".bin", p.agent.name), slices.Concat(args, claude.resume, []string{secondPrompt})...)
		p.env = was
		if ran := exists(filepath.Join(dir, name)); ran != free {
			t.Errorf("taken up outside, asking nobody: %v: the command ran: %v\n%+v", free, ran, r)
		}
	}
}

// claimFreedom ends the host's transcript as one that was held at a terminal ends.
func (p *person) claimFreedom(t *testing.T) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.home, ".claude/projects/*", conversation+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v: want one transcript", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	p.put(t, found[0], string(text)+`{"type":"permission-mode","permissionMode":"bypassPermissions","sessionId":"`+conversation+`"}`+"\n")
}

// outside lets the agent work without ringfence.
func (p *person) outside(t *testing.T, dir string, how []string, prompt string) (result, string) {
	return p.speak(t, prompt, func(args []string) result {
		return p.run(t, dir, filepath.Join(p.agents, ".bin", p.agent.name), args...)
	}, how, p.agent.bareEnv)
}

func (p *person) inside(t *testing.T, dir string, how []string, prompt string) (result, string) {
	return p.speak(t, prompt, func(args []string) result {
		return p.ringfence(t, dir, append([]string{p.agent.name, "--"}, args...)...)
	}, how, nil)
}

// speak holds one conversation and returns what the model was asked.
func (p *person) speak(t *testing.T, prompt string, run func([]string) result, how, env []string) (result, string) {
	t.Helper()
	m := model.New(prompt, say("that is all"))
	was := p.env
	defer func() { p.env = was }()
	p.env = append(slices.Clone(was), env...)
	p.hire(t, m)
	r := run(slices.Concat(p.arguments(p.agent.args, how), []string{prompt}))
	var asked strings.Builder
	for _, q := range m.Requests() {
		asked.Write(q.Body)
	}
	return r, asked.String()
}

// everything is what the agent's state of a project holds.
func (p *person) everything(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(filepath.Join(p.home, ".local/state/ringfence/projects"), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return b.String()
}

// session is the id of the latest.
func session(t *testing.T, p *person, dir string) string {
	fields := strings.Fields(strings.TrimPrefix(p.ringfence(t, dir, "ps", "-a").stdout, "SESSION"))
	for i, f := range fields {
		if f == p.agent.name && i > 0 {
			return fields[i-1]
		}
	}
	t.Error("there is no session")
	return ""
}
