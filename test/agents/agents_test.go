package agents

import (
	"encoding/json"
	"flag"
	"strconv"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
	kernels "ringfence.dev/ringfence/test/machine"
	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// TestMain lets all agents play at once, however small the machine is: they wait more
// than they compute. Who says another number on the command line has it.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(len(all))); err != nil {
		panic(err)
	}
	if rungs.Name() == rungs.MicroVM {
		if err := kernels.Prepare(""); err != nil {
			panic(err)
		}
	}
	world.Main(m, "./search")
}

// agent is one of those that ringfence knows, and how a test talks to it.
type agent struct {
	name, npm string

	api      string   // its place at the broker
	vendor   string   // the host that serves the same
	base     string   // the variable of the launcher that says where its models are: {URL}…
	tail     string   // … and this
	key      string   // the variable that holds the key
	args     []string // for every conversation with the model
	begin    []string // a new conversation; the prompt follows
	resume   []string // the last one again; the prompt follows
	plain    []string // one that is not resumed
	bare     []string // arguments that lead it to the model at {URL} without ringfence …
	bareEnv  []string // … and variables
	presents string   // what a shell inside and outside takes for the agent's own credential

	tools map[string]func(what, text string) model.Call // read, write, shell, fetch

	// What the user has of it, by path under HOME. {CANARY} is a secret and must not
	// come inside, {MARK} must.
	hidden  map[string]string // must be absent
	shown   map[string]string // must be visible, read-only, without secrets
	masked  map[string]string // lies in what is shown and must be covered
	carried map[string]string // must be there without secrets, as a copy of the agent's own
	told    string            // the user's own instructions: must reach the model
	state   string            // a directory that it keeps from session to session

	login map[string]string // what a host has that is logged in: {KEY} is real
	start start             // how it begins at a terminal
}

// The tools of the bench.
const (
	toolRead  = "read"
	toolWrite = "write"
	toolShell = "shell"
	toolFetch = "fetch"
)

// shell is the call of a command.
func (a agent) shell(command string) model.Call { return a.tools[toolShell](command, "") }

// say is a turn that ends a conversation.
func say(text string) model.Turn { return model.Turn{Text: text} }

// use is a turn that calls tools.
func use(calls ...model.Call) model.Turn { return model.Turn{Calls: calls} }

var all = []agent{claude, codex, gemini, opencode}

// eachAgent runs a test for every agent: for the first by root, for the next by the
// ordinary user, and so on; or, with from 1, the other way round. So both meet every
// agent, in some tests or in others, and no session is held twice to say the same.
func eachAgent(t *testing.T, from int, test func(*testing.T, agent)) {
	t.Run("each", func(t *testing.T) {
		for i, a := range all {
			if !stage.Mine(from + i) {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				test(t, a)
			})
		}
	})
}

func TestVersion(t *testing.T) {
	eachAgent(t, 0, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		r := p.ringfence(t, p.project(t, "one"), a.name, "--", "--version")
		if r.status != 0 || !strings.Contains(r.stdout, version(t, a)) {
			t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
		}
	})
}

// version is the one that is installed.
func version(t *testing.T, a agent) string {
	data, err := sources.ReadFile("npm/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pins struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &pins); err != nil {
		t.Fatal(err)
	}
	version := pins.Dependencies[a.npm]
	if version == "" {
		t.Fatalf("npm/package.json does not pin %s", a.npm)
	}
	return version
}
