package agents

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// agent is one of those that ringfence knows, and how a test talks to it.
type agent struct {
	name, npm string

	screen []string          // what its first screen says
	env    map[string]string // that points it to the model at {URL}
	args   []string          // for every conversation with the model
	begin  []string          // a new conversation; the prompt follows
	resume []string          // the last one again; the prompt follows
	shell  func(command string) turn
	read   func(path string) turn // nil if the shell is how it reads

	// What the user has of it, by path under HOME. {CANARY} is a secret and must not
	// come inside, {MARK} must.
	hidden  map[string]string // must be absent
	shown   map[string]string // must be visible, read-only, without secrets
	masked  map[string]string // lies in what is shown and must be covered
	carried map[string]string // must be there without secrets, as a copy of the agent's own
	told    string            // the user's own instructions: must reach the model
	state   string            // a directory that it keeps from session to session
}

// turn is an answer of the model: a call of a tool, or else text.
type turn struct {
	Tool  string
	Input map[string]string
	Text  string
}

var all = []agent{claude, codex, gemini, opencode}

func TestVersion(t *testing.T) {
	kit := newKit(t)
	eachAgent(t, func(t *testing.T, a agent, u user) {
		p := kit.newPerson(t, a, u)
		r := p.ringfence(t, p.project(t, "one"), a.name, "--", "--version")
		if r.status != 0 || !strings.Contains(r.stdout, kit.version(t, a)) {
			t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
		}
	})
}

// eachAgent runs a test for every agent and user.
func eachAgent(t *testing.T, test func(*testing.T, agent, user)) {
	t.Run("each", func(t *testing.T) {
		for _, a := range all {
			for _, u := range users() {
				t.Run(a.name+"/"+u.name, func(t *testing.T) {
					t.Parallel()
					test(t, a, u)
				})
			}
		}
	})
}

// version is the one that is installed.
func (k *kit) version(t *testing.T, a agent) string {
	data, err := os.ReadFile("npm/package.json")
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

// The scripted model has no secret, and a real one would not help: the network is
// closed. What the user's files hold must make no difference.
func TestLoggedOut(t *testing.T) {
	kit := newKit(t)
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			p := kit.newPerson(t, claude, u)
			r := p.ringfence(t, p.project(t, "one"), "claude", "--", "-p", "hello")
			if r.status != 1 || !strings.Contains(r.stdout, "Not logged in") {
				t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
			}
		})
	}
}
