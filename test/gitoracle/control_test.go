package gitoracle

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"ringfence.dev/ringfence/test/tier"
)

// enough is how many must be found without a sandbox.
const enough = 24

// TestControl plays what the suite plays, but without a sandbox, until enough are found.
// A suite that finds nothing there is blind.
func TestControl(t *testing.T) {
	if os.Getuid() == 0 && *forTime == 0 {
		t.Skip("the ordinary user's half does it") // the time is better used
	}
	var plays []play
	for i := range known {
		if *forTime > 0 || i%2 == 0 && !strings.HasPrefix(known[i].name, "pipe") {
			plays = append(plays, known[i])
		}
	}
	for seed := *first; seed < *first+10; seed++ {
		p, _ := random(seed)
		plays = append(plays, p)
	}
	var found atomic.Int64
	var missed []string
	var lock sync.Mutex
	each(plays, func(p play) {
		if found.Load() >= enough && *forTime == 0 && !tier.All() {
			return
		}
		got, err := p.perform(t, "none")
		switch {
		case err != nil:
			t.Errorf("%s: %v", p.name, err)
		case len(got) > 0:
			found.Add(1)
		default:
			lock.Lock()
			missed = append(missed, p.name)
			lock.Unlock()
		}
	})
	t.Logf("%d are found; not: %q", found.Load(), missed)
	if found.Load() < enough {
		t.Errorf("only %d of %d hostile scripts are found without a sandbox", found.Load(), len(plays))
	}
}

// each does something with every play, as many at a time as there are processors.
func each(plays []play, do func(play)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(plays); i = next.Add(1) - 1 {
				do(plays[i])
			}
		})
	}
	group.Wait()
}
