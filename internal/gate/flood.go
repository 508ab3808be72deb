package gate

import (
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/journal"
)

// flood keeps an agent from filling the journal with refusals: beyond so many a second
// they are counted, and the next one that is written says how many it stands for.
// Nothing that is allowed is ever left out.
type flood struct {
	mu     sync.Mutex
	second int64
	wrote  int
	left   int // out, since the last that was written
}

const refusalsASecond = 200

// refused records a denial.
func (g *Gate) refused(r journal.Record) {
	g.flood.mu.Lock()
	now := time.Now().Unix()
	if g.flood.second != now {
		g.flood.second, g.flood.wrote = now, 0
	}
	if g.flood.wrote >= refusalsASecond {
		g.flood.left++
		g.flood.mu.Unlock()
		g.tally.Add(r)
		return
	}
	g.flood.wrote++
	if g.flood.left > 0 {
		r.Count, g.flood.left = g.flood.left+1, 0
	}
	g.flood.mu.Unlock()
	r.Verdict = journal.Deny
	g.record(r) // it is refused in any case
}
