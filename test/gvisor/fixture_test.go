package gvisor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// fixture is a world whose sessions run on gVisor.
type fixture struct {
	*world.World
	t *testing.T
}

// program is the runsc that scripts/tools built.
func program(t *testing.T) string {
	t.Helper()
	at, err := built.Runsc()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{world.New(t), t}
	f.policy(fmt.Sprintf("[rung]\nrunsc = %q\n", program(t)))
	return f
}

// policy writes the user's own.
func (f *fixture) policy(text string) {
	f.t.Helper()
	dir := filepath.Join(f.State, "config", "ringfence")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.toml"), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// on runs a shell command on gVisor.
func (f *fixture) on(script string, flags ...string) world.Result {
	f.t.Helper()
	return f.Run(append(append([]string{"--rung", "gvisor"}, flags...), "--", "sh", "-c", script)...)
}

// command prepares ringfence with a bound on how long it may take.
func (f *fixture) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	f.t.Cleanup(cancel)
	return f.Command(ctx, args...)
}

// start begins a session that stays, and returns its id.
func (f *fixture) start(script string, flags ...string) string {
	f.t.Helper()
	cmd := f.command(append(append([]string{"run", "-d", "--rung", "gvisor"}, flags...), "--", "sh", "-c", script)...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("start: %v\n%s", err, &talk)
	}
	id := strings.TrimSpace(string(out))
	f.t.Cleanup(func() { f.command("stop", "--time", "0s", id).Run() })
	return id
}

// session is what ps tells of one.
type session struct {
	Session, Rung string
	PID           int
	Frozen        bool
}

func (f *fixture) ps() (list []session) {
	f.t.Helper()
	out, err := f.command("ps", "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return list
}

func (f *fixture) eventually(what string, holds func() bool) {
	f.t.Helper()
	wait.Eventually(f.t, what, holds)
}

// person sits at a terminal.
type person struct {
	f   *fixture
	cmd *exec.Cmd
	tty *os.File

	mu   sync.Mutex
	seen bytes.Buffer
}

func (f *fixture) sit(args ...string) *person {
	f.t.Helper()
	p := &person{f: f, cmd: f.command(args...)}
	p.start()
	return p
}

// sees waits for a text on the screen.
func (p *person) sees(text string) {
	p.f.t.Helper()
	p.f.eventually(fmt.Sprintf("%q on the screen", text), func() bool { return p.saw(text) })
}

func (p *person) saw(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.seen.String(), text)
}

func (p *person) types(text string) {
	p.f.t.Helper()
	if _, err := p.tty.WriteString(text); err != nil {
		p.f.t.Fatal(err)
	}
}

// status waits for the end.
func (p *person) status() int {
	p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}
