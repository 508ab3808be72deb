package agents

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// TestTypedInAMachine: Claude Code has the screen while it runs in a virtual machine. Keys that a
// person types are echoed, and its model answers.
func TestTypedInAMachine(t *testing.T) {
	if rungs.Name() != rungs.MicroVM {
		t.Skip("the other tests have a screen enough for the other rungs")
	}
	a := claude
	p := newPerson(t, a)
	for path, content := range a.login {
		p.put(t, filepath.Join(p.home, path), content)
	}
	dir := p.project(t, "one")
	git(t, "init", "--quiet", dir)
	p.hire(t, model.New(typed, say(answer)))
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	began := time.Now()
	cmd := p.command(ctx, dir, stage.Ringfence, append([]string{a.name, "--name", "typed", "--yes", "--"}, a.start.args...)...)
	pane := screen.NewPane(t, stage.Work, cmd, false)
	for _, ready := range a.start.ready {
		wait.Eventually(t, "the screen shows "+ready, func() bool { return pane.Shows(ready) })
	}
	t.Logf("it is ready after %s", time.Since(began).Round(time.Second))
	settled(t, pane)
	var took []time.Duration
	for n := range typed {
		began := time.Now()
		pane.Do("send-keys", "-l", typed[n:n+1])
		wait.Eventually(t, "a key's echo", func() bool { return pane.Shows(strings.TrimSpace(typed[:n+1])) })
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("a key is on the screen after %s, the median of %d; the slowest after %s", took[len(took)/2].Round(time.Millisecond), len(took), took[len(took)-1].Round(time.Millisecond))
	pane.Do("send-keys", "Enter")
	wait.Eventually(t, "the answer", func() bool { return pane.Shows(answer) })
	if r := p.ringfence(t, dir, "stop", "typed"); r.status != 0 {
		t.Errorf("%+v", r)
	}
	wait.Eventually(t, "the end", pane.Ended)
}
