package hand

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// command prepares ringfence, within another command if there is one.
func command(ctx context.Context, w *world.World, within, args []string) *exec.Cmd {
	cmd := w.Command(ctx, args...)
	if len(within) == 0 {
		return cmd
	}
	outer := exec.CommandContext(ctx, within[0], append(slices.Clone(within[1:]), append([]string{cmd.Path}, args...)...)...)
	outer.Dir, outer.Env, outer.WaitDelay = cmd.Dir, cmd.Env, cmd.WaitDelay
	return outer
}

// Ringfence runs one of its commands to its end, from outside.
func Ringfence(t testing.TB, w *world.World, args ...string) world.Result {
	t.Helper()
	return ringfence(t, w, nil, args)
}

func ringfence(t testing.TB, w *world.World, within, args []string) world.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := command(ctx, w, within, args)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%q: %v, %v\n%s%s", cmd.Args, err, ctx.Err(), &stdout, &stderr)
	}
	return world.Result{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// requests is what `ringfence requests --json` says of all sessions.
func requests(w *world.World, within []string) []control.Status {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	out, err := command(ctx, w, within, []string{"requests", "--json"}).Output()
	if err != nil {
		return nil
	}
	var all []control.Status
	if json.Unmarshal(out, &all) != nil {
		return nil
	}
	return all
}

// Status is what it says of this one.
func (s *Session) Status() control.Status {
	for _, st := range requests(s.w, s.within) {
		if st.Session == s.ID {
			return st
		}
	}
	return control.Status{}
}

// Grant runs `ringfence grant` for the session.
func (s *Session) Grant(args ...string) world.Result {
	s.t.Helper()
	return ringfence(s.t, s.w, s.within, append([]string{"grant", s.ID}, args...))
}

// Publish runs `ringfence publish` on the session.
func (s *Session) Publish(port string) world.Result {
	s.t.Helper()
	return ringfence(s.t, s.w, s.within, []string{"publish", s.ID, port})
}

// Config writes a file of the user's configuration and returns its path.
func Config(t testing.TB, w *world.World, name, text string) string {
	t.Helper()
	path := filepath.Join(w.State, "config/ringfence", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
