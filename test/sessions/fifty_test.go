package sessions

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// many is fifty, for one of the users; what the other does with fewer differs in nothing
// but its rights.
func many() int {
	if stage.Mine(0) {
		return 50
	}
	return 12
}

// TestFifty: fifty sessions in one project at once are started, asked, run something
// in, ended and removed, and nothing is left but their journals, which verify.
func TestFifty(t *testing.T) {
	w := newWorld(t)
	before := stage.Groups()
	each(func(n int) {
		id := w.must("run", "--net", "locked", "-d", "--name", name(n), "--", "sh", "-c", "echo here; exec sleep 1000")
		if len(id) != 10 {
			t.Errorf("session %d is called %q", n, id)
		}
	})
	list := w.ps("--memory")
	if len(list) != many() {
		t.Fatalf("%d sessions run", len(list))
	}
	var memory int64
	for _, s := range list {
		memory += s.Memory
	}
	t.Logf("uid %d: %d sessions, %d KiB each", os.Getuid(), len(list), memory/int64(len(list))>>10)
	each(func(n int) {
		if out := w.must("exec", name(n), "--", "sh", "-c", "echo $((6*7)); cat /.ringfence/status"); !strings.HasPrefix(out, "42\nfenced") {
			t.Errorf("session %d: %q", n, out)
		}
	})
	if out := w.must("stop", "--all"); out != "" {
		t.Errorf("stop said %q", out)
	}
	if list := w.ps(); len(list) > 0 {
		t.Errorf("%d sessions still run", len(list))
	}
	for _, s := range list {
		// Nobody on the stage reaps: one that has ended has no command line.
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.PID)); err == nil && len(b) > 0 {
			t.Errorf("process %d of session %s is still there", s.PID, s.Name)
		}
	}
	each(func(n int) {
		if out := w.must("output", name(n)); !strings.HasPrefix(out, "here") {
			t.Errorf("session %d printed %q", n, out)
		}
		w.must("rm", name(n))
	})
	if left := w.left(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if after := stage.Groups(); len(after) != len(before) {
		t.Errorf("groups: %q, before %q", after, before)
	}
	for _, s := range list {
		if out := w.must("log", "verify", s.Session); !strings.Contains(out, s.Session) {
			t.Errorf("%s: %s", s.Session, out)
		}
	}
}

func name(n int) string { return fmt.Sprintf("many-%d", n) }

// each does it for all, a few at a time.
func each(do func(n int)) {
	const atOnce = 6
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for n := range many() {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			do(n)
		})
	}
	all.Wait()
}
