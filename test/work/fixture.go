// Package work is what the tests of every rung share: sessions in a world, a person at a
// terminal, the processes of a sandbox, and the work that must be possible on each.
package work

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// Fixture is a world whose sessions run on one rung.
type Fixture struct {
	*world.World
	T    *testing.T
	Rung string
	text string   // of the user's policy
	env  []string // of who starts ringfence, besides the world's
}

// New begins anew, with a policy of the user's own.
func New(t *testing.T, rung, policy string) *Fixture {
	t.Helper()
	f := &Fixture{World: world.New(t), T: t, Rung: rung}
	f.Policy(policy)
	return f
}

// Policy writes the user's own.
func (f *Fixture) Policy(text string) {
	f.T.Helper()
	f.text = text
	dir := filepath.Join(f.State, "config", "ringfence")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.T.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.toml"), []byte(text), 0o600); err != nil {
		f.T.Fatal(err)
	}
}

// On runs a shell command on the rung.
func (f *Fixture) On(script string, flags ...string) world.Result {
	f.T.Helper()
	return f.Run(append(append([]string{"--rung", f.Rung}, flags...), "--", "sh", "-c", script)...)
}

// Cmd prepares ringfence with a bound on how long it may take.
func (f *Fixture) Cmd(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	f.T.Cleanup(cancel)
	cmd := f.Command(ctx, args...)
	cmd.Env = append(cmd.Env, f.env...)
	return cmd
}

// Start begins a session that stays, and returns its id.
func (f *Fixture) Start(script string, flags ...string) string {
	f.T.Helper()
	cmd := f.Cmd(append(append([]string{"run", "-d", "--rung", f.Rung}, flags...), "--", "sh", "-c", script)...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		f.T.Fatalf("start: %v\n%s", err, &talk)
	}
	id := strings.TrimSpace(string(out))
	f.T.Cleanup(func() { f.Cmd("stop", "--time", "0s", id).Run() })
	return id
}

// Said waits for a word of a session's agent.
func (f *Fixture) Said(id, word string) {
	f.T.Helper()
	f.Eventually("the agent's word", func() bool {
		out, _ := f.Cmd("output", id).Output()
		return strings.Contains(string(out), word)
	})
}

// Session is what ps tells of one.
type Session struct {
	Session, Rung string
	PID           int
	Frozen        bool
}

// PS lists the sessions.
func (f *Fixture) PS() (list []Session) {
	f.T.Helper()
	out, err := f.Cmd("ps", "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		f.T.Fatal(err)
	}
	return list
}

// Supervisor is the process of a session.
func (f *Fixture) Supervisor(id string) int {
	f.T.Helper()
	for _, s := range f.PS() {
		if s.Session == id {
			return s.PID
		}
	}
	f.T.Fatalf("ps has no session %s", id)
	return 0
}

// Eventually waits for what must happen.
func (f *Fixture) Eventually(what string, holds func() bool) {
	f.T.Helper()
	wait.Eventually(f.T, what, holds)
}
