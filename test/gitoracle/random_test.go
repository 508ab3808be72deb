package gitoracle

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// TestRandom plays what the generator makes of the seeds: the fixed ones, every second
// for each user, or as many as there is time for.
func TestRandom(t *testing.T) {
	var next atomic.Uint64
	next.Store(*first)
	last := *first + uint64(*seeds)
	deadline := started.Add(*forTime / time.Duration(halves()))
	var played atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				seed := next.Add(1) - 1
				if *forTime == 0 && seed >= last || *forTime > 0 && time.Now().After(deadline) {
					return
				}
				if *forTime == 0 && !stage.Mine(int(seed%2)) {
					continue // the other user's
				}
				try(t, seed)
				played.Add(1)
			}
		})
	}
	group.Wait()
	t.Logf("%d random sessions", played.Load())
}

// halves is how many users the time is for: whom root starts, he is not alone.
func halves() int {
	if os.Getuid() == 0 || os.Getuid() == 1711 {
		return 2
	}
	return 1
}

// try plays one seed. What is found is made as short as it can be.
func try(t *testing.T, seed uint64) {
	p, pipeline := random(seed)
	found, err := p.perform(t, pipeline)
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, p)
		return
	}
	if len(found) == 0 {
		return
	}
	short, left := shrink(t, p, pipeline, found)
	t.Errorf("seed %d, %s %s, %s:\n%s\n%s", seed, p.base, p.from, pipeline, short, first3(left))
}

func first3(found []finding) string {
	var out []string
	for _, f := range found[:min(len(found), 3)] {
		out = append(out, "\t"+f.String())
	}
	return strings.Join(out, "\n")
}

func (p play) String() string {
	var out strings.Builder
	for i, lines := range p.sessions {
		fmt.Fprintf(&out, "\tsession %d:\n", i+1)
		for _, line := range lines {
			fmt.Fprintf(&out, "\t\t%s\n", line)
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// shrink drops lines as long as something is still found.
func shrink(t testing.TB, p play, pipeline string, found []finding) (play, []finding) {
	for changed := true; changed; {
		changed = false
		for i := range p.sessions {
			for j := len(p.sessions[i]) - 1; j >= 0; j-- {
				less := p.without(i, j)
				if left, err := less.perform(t, pipeline); err == nil && len(left) > 0 {
					p, found, changed = less, left, true
				}
			}
		}
	}
	return p, found
}

func (p play) without(session, line int) play {
	out := p
	out.sessions = nil
	for i, lines := range p.sessions {
		var kept []string
		for j, text := range lines {
			if i != session || j != line {
				kept = append(kept, text)
			}
		}
		out.sessions = append(out.sessions, kept)
	}
	return out
}
