package agents

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/stage"
)

// What the model tells the agent to run: nothing of the first may happen. No rule of the
// agent's own knows it, only the hook does.
const (
	unwanted = `touch touched; chmod -R o+w .`
	wanted   = `touch allowed`
)

// bare runs the agent without ringfence, for the scripted model.
func (p *person) bare(t *testing.T, dir, prompt string, m *model.Model) result {
	t.Helper()
	env := p.env
	defer func() { p.env = env }()
	p.hire(t, m)
	p.env = append(p.env, p.agent.bareEnv...)
	return p.run(t, dir, filepath.Join(p.agents, ".bin", p.agent.name), slices.Concat(p.arguments(p.agent.args, p.agent.begin), []string{prompt})...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestHook: in a sandbox Claude Code asks ringfence before each command, also where it
// asks nobody else, and what is denied does not happen. Without ringfence it happens.
func TestHook(t *testing.T) {
	if !stage.Mine(0) {
		t.Skip("root plays it")
	}
	p := newPerson(t, claude)
	p.pay()
	control := p.project(t, "control")
	m := model.New(firstPrompt, use(p.agent.shell(unwanted)), say("that is all"))
	if r := p.bare(t, control, firstPrompt, m); !exists(filepath.Join(control, "touched")) {
		t.Fatalf("the control shows nothing: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	one := p.project(t, "one")
	asked := p.converse(t, one, p.agent.begin, firstPrompt, use(p.agent.shell(unwanted)), use(p.agent.shell(wanted)), say("that is all"))
	if exists(filepath.Join(one, "touched")) {
		t.Error("the hook denied the command, and it ran")
	}
	if !exists(filepath.Join(one, "allowed")) {
		t.Error("what the hook lets pass did not run")
	}
	if !strings.Contains(asked, "lets everybody write") {
		t.Error("the model is not told why")
	}
}

// TestVerifyCommand: the command is there under its name.
func TestVerifyCommand(t *testing.T) {
	if !stage.Mine(1) {
		t.Skip("the ordinary user plays it")
	}
	p := newPerson(t, claude)
	p.pay()
	const marker = "You run inside a sandbox made by ringfence"
	m := model.New(marker, say("that is all"))
	p.hire(t, m)
	r := p.ringfence(t, p.project(t, "one"), slices.Concat([]string{"claude", "--"}, p.agent.args, []string{"-p", "/verify-sandbox"})...)
	var asked strings.Builder
	for _, q := range m.Requests() {
		asked.Write(q.Body)
	}
	if !strings.Contains(asked.String(), marker) {
		t.Errorf("status %d: the prompt did not reach the model\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// machine gives the rest of a script an /etc, /usr/local and /var/lib of its own, with
// ringfence installed for all and its gate shut.
const machine = `set -eu
mount --make-rprivate /
mkdir "$MACHINE"
mount -t tmpfs tmpfs "$MACHINE"
for d in etc usr/local var/lib; do
	mkdir -p "$MACHINE/$d/u" "$MACHINE/$d/w"
	mount -t overlay overlay -o "lowerdir=/$d,upperdir=$MACHINE/$d/u,workdir=$MACHINE/$d/w" "/$d"
done
rm -rf /etc/claude-code /usr/local/bin/claude
cp "$RINGFENCE" /usr/local/bin/ringfence
if [ "$GATE" = yes ]; then /usr/local/bin/ringfence install claude --managed >&2; fi
`

// TestGate: with the gate shut Claude Code itself refuses every prompt outside of a
// sandbox, and works inside.
func TestGate(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the gate is root's to shut")
	}
	p := newPerson(t, claude)
	p.pay()
	p.env = append(p.env, p.agent.bareEnv...)
	p.env = append(p.env, "MACHINE="+filepath.Join(filepath.Dir(p.home), "machine"), "RINGFENCE="+stage.Ringfence, "BARE="+filepath.Join(p.agents, ".bin/claude"))
	dir := p.project(t, "one")
	outside := `exec "$BARE" --dangerously-skip-permissions -p "` + firstPrompt + `"`
	for _, c := range []struct {
		what, gate, then string
		works            bool
	}{
		{"no gate", "no", outside, true},
		{"outside", "yes", outside, false},
		{"outside, let by root", "yes", "mkdir -p /etc/ringfence; touch /etc/ringfence/allow-bare; " + outside, true},
		{"outside, let by a variable", "yes", "export RINGFENCE_ALLOW_BARE=1; " + outside, false},
		{"outside, hooks switched off by the user", "yes", `mkdir -p "$HOME/.claude"; echo '{"disableAllHooks": true}' >"$HOME/.claude/settings.json"; ` + outside, false},
		// Known, and said in the documentation: who types this wants no hooks.
		{"outside, bare mode", "yes", strings.Replace(outside, " -p ", " --bare -p ", 1), true},
		{"outside, safe mode", "yes", strings.Replace(outside, " -p ", " --safe-mode -p ", 1), false},
		{"outside, no settings", "yes", strings.Replace(outside, " -p ", " --setting-sources '' -p ", 1), false},
		{"outside, simple by a variable", "yes", "export CLAUDE_CODE_SIMPLE=1; " + outside, false},
		{"inside", "yes", `exec /usr/local/bin/ringfence claude -- --dangerously-skip-permissions -p "` + firstPrompt + `"`, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := model.New(firstPrompt, say("that is all"))
			env := p.env
			defer func() { p.env = env }()
			p.hire(t, m)
			p.env = append(p.env, "GATE="+c.gate)
			r := p.run(t, dir, "unshare", "-m", "sh", "-c", machine+c.then)
			if got := strings.Contains(r.stdout, "that is all"); got != c.works {
				t.Errorf("works: %v, status %d\n%s%s", got, r.status, r.stdout, r.stderr)
			}
			for _, q := range m.Requests() {
				if !c.works && strings.Contains(string(q.Body), firstPrompt) {
					t.Error("the prompt reached the model")
				}
			}
			if err := os.RemoveAll(filepath.Join(filepath.Dir(p.home), "machine")); err != nil {
				t.Error(err)
			}
		})
	}
}
