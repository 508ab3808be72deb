package supervisor

import (
	"path/filepath"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session/control"
)

// sumProgram records which program runs below the agent. It is summed up when the agent
// runs, so that nobody waits for it but the end of the record.
func (l *live) sumProgram() {
	p := l.program
	if p == nil {
		return
	}
	l.below.Store(&control.Program{Path: p.Path})
	l.book.settling.Go(func() {
		r := journal.Record{Kind: journal.Session, Event: journal.Below, Mode: rung.Title(l.session.Rung)}
		sum, err := p.KeptSum(filepath.Join(l.session.Dirs.State, "program"))
		if err != nil {
			r.Reason = err.Error()
		} else {
			l.below.Store(&control.Program{Path: p.Path, SHA256: sum})
			r.Digest = "sha256:" + sum
		}
		l.Record(journal.Split(r, []string{p.Path})...)
	})
}
