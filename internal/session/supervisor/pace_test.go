package supervisor

import (
	"testing"
	"time"
)

// TestPace: a burst, then one now and then, and an end.
func TestPace(t *testing.T) {
	v, now := &serving{}, time.Unix(1e9, 0)
	count := func(at time.Time) (n int) {
		for v.pace(at) {
			n++
		}
		return n
	}
	if n := count(now); n != startBurst {
		t.Errorf("%d at once", n)
	}
	if n := count(now.Add(2 * startEvery)); n != 2 {
		t.Errorf("%d after two more", n)
	}
	total := startBurst + 2
	for i := range 1000 {
		total += count(now.Add(time.Duration(i+3) * time.Hour))
	}
	if total != maxStarts {
		t.Errorf("%d in all", total)
	}
}
