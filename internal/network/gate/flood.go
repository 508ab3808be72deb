package gate

import (
	"strconv"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/journal"
)

// flood keeps an agent from filling the journal with refusals. The same refusal again
// within a moment is counted, and told with the next of its kind or at the end. One of
// another target is always written, and where there are too many a second, who is
// refused waits: nothing is hidden by a crowd of others.
type flood struct {
	mu   sync.Mutex
	seen map[string]*again
	next time.Time // when the next record is due

	spill int // refusals whose target was forgotten
}

// again is a refusal that was written, and how often it came since.
type again struct {
	record journal.Record
	at     time.Time
	left   int
}

const (
	sameFor      = 5 * time.Second
	refusalPause = time.Second / 300
	longestPause = 2 * time.Second
	maxSeen      = 4096
)

// take decides whether a refusal is written, and how long it is to wait.
func (f *flood) take(r *journal.Record, now time.Time) (write bool, pause time.Duration) {
	r.Verdict = journal.Deny
	key := r.Via + " " + r.Name + " " + r.Addr + " " + strconv.Itoa(int(r.Port)) + " " + r.Rule + " " + r.Reason
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.seen[key]
	if a != nil && now.Sub(a.at) < sameFor {
		a.left++
		return false, 0
	}
	if a == nil {
		if f.seen == nil || len(f.seen) >= maxSeen {
			f.forget()
		}
		a = &again{}
		f.seen[key] = a
	}
	if a.left > 0 {
		r.Count = a.left + 1
	}
	*a = again{record: *r, at: now}
	if f.next.Before(now) {
		f.next = now
	}
	pause = f.next.Sub(now) - 100*refusalPause // a burst is fine
	f.next = f.next.Add(refusalPause)
	return true, pause
}

// forget begins anew; of what was counted only the sum is kept.
func (f *flood) forget() {
	for _, a := range f.seen {
		f.spill += a.left
	}
	f.seen = map[string]*again{}
}

// rest returns what was counted and not told yet.
func (f *flood) rest() []journal.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []journal.Record
	for _, a := range f.seen {
		if a.left > 0 {
			a.record.Count = a.left
			out = append(out, a.record)
		}
	}
	if f.spill > 0 {
		out = append(out, journal.Record{Event: journal.Decision, Verdict: journal.Deny, Reason: "refusals of targets that were told before", Count: f.spill})
	}
	f.seen, f.spill = nil, 0
	return out
}
