package ssh

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/wait"
)

// Whoever dies, nothing runs on, and nothing is left there.
func TestKilled(t *testing.T) {
	const script = `echo before >early; echo up; while :; do sleep 1; done`
	t.Run("here", func(t *testing.T) {
		w := newWorld(t)
		s := w.begin("box", "killed-here", script)
		s.Process.Kill()
		s.end(t)
		w.quiet()
	})
	t.Run("there", func(t *testing.T) {
		w := newWorld(t)
		s := w.begin("box", "killed-there", script)
		w.ringfence("diff") // brings over what there is
		w.asThere(`kill -9 $(ps -eo pid,args | grep '[r]ingfence-there' | while read p rest; do echo $p; done)`)
		if s.end(t) == 0 || !strings.Contains(s.errs.String(), "the far end is gone") {
			t.Error("nobody was told")
		}
		if r := w.ringfence("diff"); !strings.Contains(r.out, "early") {
			t.Error("what had been brought over is lost")
		}
		if r := w.on("box", "exit 6"); r.status != 6 { // it sweeps
			t.Errorf("status %d", r.status)
		}
		if r := w.ringfence("attach", "killed-there"); r.status != 0 {
			t.Errorf("attach: %d", r.status)
		}
		w.quiet()
	})
	t.Run("link", func(t *testing.T) {
		w := newWorld(t)
		s := w.begin("relayed", "cut", script)
		w.cut()
		if s.end(t) == 0 || !strings.Contains(s.errs.String(), "the far end is gone") {
			t.Error("nobody was told")
		}
		w.quiet()
	})
}

// A disk that is full there stops the session, with the reason.
func TestFull(t *testing.T) {
	w := newWorld(t)
	if r := w.on("tiny", "echo it-ran"); r.status != 125 || r.out != "" || !strings.Contains(r.errors, "did not keep the program") {
		t.Errorf("without room for the program: status %d, %q", r.status, r.errors)
	}
	w.put("big", strings.Repeat("0123456789abcdef", 4<<20))
	r := w.on("small", "echo it-ran")
	if r.status != 125 || r.out != "" || !strings.Contains(r.errors, "no space left") {
		t.Errorf("without room for the project: status %d, %q", r.status, r.errors)
	}
	wait.Eventually(t, "what was sent is removed", func() bool {
		return !strings.Contains(w.do("/srv/bin/ssh", "small", "ls -A .cache/ringfence/work").out, "-")
	})
}

// A machine that cannot be reached, and what must not go to any, is refused.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"run", "--rung", "ssh:nowhere@box", "--", "true"}, "cannot be reached"},
		{[]string{"run", "--rung", "ssh", "--", "true"}, "no machine is named"},
		{[]string{"run", "--rung", "ssh:-oProxyCommand=touch /tmp/it-ran", "--", "true"}, "is not the name of a machine"},
		{[]string{"run", "--rung", "ssh:box", "--expose", "~/.netrc", "--", "true"}, "no credential is sent"},
		{[]string{"run", "--rung", "ssh:box", "--force-env", "GITHUB_TOKEN", "--", "true"}, "no credential is sent"},
		{[]string{"run", "--rung", "ssh:box", "--live", "--", "true"}, "the view live is not to be had"},
	} {
		if r := w.ringfence(c.args...); r.status == 0 || r.out != "" || !strings.Contains(r.errors, c.says) {
			t.Errorf("%q: status %d, %q", c.args, r.status, r.errors)
		}
	}
	w.put(".ringfence.toml", "[rung]\nuse = \"ssh\"\nssh = \"evil\"\n")
	if r := w.ringfence("run", "--", "true"); r.status != 0 || strings.Contains(r.errors, "evil cannot be reached") || strings.Contains(r.errors, "the session runs on another machine") {
		t.Error("a project names a machine, or chooses it")
	}
}
