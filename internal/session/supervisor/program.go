package supervisor

import (
	"errors"
	"path/filepath"
	"strconv"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session/control"
)

// sumProgram records which programs run below the agent. They are summed up when the agent
// runs, so that nobody waits for it but the end of the record.
func (l *live) sumProgram() {
	p := l.program
	if p == nil {
		return
	}
	l.below.Store(&control.Program{Path: p.Path})
	l.book.settling.Go(func() {
		if sum, ok := l.recordProgram(p, "program"); ok {
			l.below.Store(&control.Program{Path: p.Path, SHA256: sum})
		}
		for n, other := range p.Beside {
			l.recordProgram(other, "program-"+strconv.Itoa(n+1))
		}
	})
}

// recordProgram records one, whose digest is kept under a name.
func (l *live) recordProgram(p *rung.Program, kept string) (sum string, ok bool) {
	r := journal.Record{Kind: journal.Session, Event: journal.Below, Mode: rung.Title(l.session.Rung)}
	sum, err := p.KeptSum(filepath.Join(l.session.Dirs.State, kept))
	if err == nil {
		r.Digest = "sha256:" + sum
	}
	if p.Version != nil {
		said, failed := p.Version()
		r.Version, err = said, errors.Join(err, failed)
	}
	if err != nil {
		r.Reason = err.Error()
	}
	l.Record(journal.Split(r, []string{p.Path})...)
	return sum, r.Digest != ""
}
