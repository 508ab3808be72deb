package gate

import (
	"fmt"
	"sync"

	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/journal"
)

// maxSuspects is how many lines the journal gets for such texts. A session that is full of
// them must not fill the journal: without room in it nothing is allowed any more.
const maxSuspects = 256

// smoke counts the lines.
type smoke struct {
	mu    sync.Mutex
	lines int
}

// next says whether a line is written; beyond the bound, at 512, 1024 and so on, it has the
// count instead.
func (s *smoke) next() (write bool, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines++
	if s.lines <= maxSuspects {
		return true, 0
	}
	return s.lines&(s.lines-1) == 0, s.lines
}

// Suspect records what was found in text on its way to a model, and tells of it. Nothing
// is refused for it: whoever hears it may close the network before the model has read it.
// Text that was not looked at counts as well: else a long one would be a way around.
func (g *Gate) Suspect(host string, r injection.Report) {
	if !r.Whole {
		r.Findings = append(r.Findings, injection.Finding{Kind: injection.Unread})
	}
	for _, f := range r.Findings {
		write, count := g.smoke.next()
		if !write {
			continue
		}
		rec := journal.Record{Kind: journal.Text, Event: journal.Suspect, Via: "broker", Name: host, Rule: string(f.Kind), Reason: f.Quote}
		switch {
		case count > 0:
			rec.Reason = fmt.Sprintf("%d so far: no line for each any more", count)
		case f.Kind == injection.Unread:
			rec.Event, rec.Rule = journal.Unread, ""
		}
		g.records.write(rec)
	}
	if g.conf.Suspect != nil && len(r.Findings) > 0 {
		g.conf.Suspect(r.Findings[0])
	}
}
