package agents

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// unknownHost is a host that no rule allows.
const unknownHost = "unheard.example.org"

// TestQuestionOverAgent: while a real agent has the screen, the title says that a host is
// wanted, Ctrl-] r shows the list, and afterwards the screen is as it was, to the byte: of
// Claude Code, which draws on the main screen, and of opencode, which has the alternate one.
func TestQuestionOverAgent(t *testing.T) {
	for i, a := range []agent{claude, opencode} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(a.name, func(t *testing.T) { questionOver(t, a) })
	}
}

func questionOver(t *testing.T, a agent) {
	p := newPerson(t, a)
	for path, content := range a.login {
		p.put(t, filepath.Join(p.home, path), content)
	}
	dir := p.project(t, "one")
	git(t, "init", "--quiet", dir)
	m := model.New(typed, say(answer))
	p.hire(t, m)
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	own := []string{a.name, "--name", "asked", "--yes", "--"}
	cmd := p.command(ctx, dir, stage.Ringfence, append(own, a.start.args...)...)
	pane := screen.NewPane(t, stage.Work, cmd, false)
	for _, ready := range a.start.ready {
		wait.Eventually(t, "the screen shows "+ready, func() bool { return pane.Shows(ready) })
	}
	before := settled(t, pane)
	due := make(chan result, 1)
	go func() {
		due <- p.ringfence(t, dir, "exec", "asked", "--", "node", "-e", "require('net').connect(443, '"+unknownHost+"').on('error', () => {})")
	}()
	wait.Eventually(t, "the title", func() bool { return strings.HasPrefix(pane.Title(), "Ctrl-] r: a host is wanted [fenced] ") })
	if now := pane.Screen(); now != before {
		t.Errorf("the screen was touched:\n%s\nbefore:\n%s", now, before)
	}
	pane.Do("send-keys", "C-]", "r")
	wait.Eventually(t, "the list", func() bool { return pane.Shows("ringfence: " + unknownHost + " is wanted") })
	pane.Do("send-keys", "n", "Enter")
	defer func() {
		if t.Failed() {
			t.Logf("it was:\n%s\nand is:\n%s", before, pane.Screen())
		}
	}()
	wait.Eventually(t, "the screen as it was", func() bool { return pane.Screen() == before })
	wait.Eventually(t, "the title as it was", func() bool { return strings.HasPrefix(pane.Title(), "[fenced] ") })
	<-due
	if r := p.ringfence(t, dir, "stop", "asked"); r.status != 0 {
		t.Errorf("%+v", r)
	}
	wait.Eventually(t, "the end", pane.Ended)
}

// settled is a screen that has not changed between two looks with something in between: an
// agent draws its first screen in several steps.
func settled(t *testing.T, pane *screen.Pane) (now string) {
	t.Helper()
	same := 0
	wait.Eventually(t, "a screen that stays", func() bool {
		last := now
		if now = pane.Screen(); now == last {
			same++
		} else {
			same = 0
		}
		return same > 20
	})
	return now
}
