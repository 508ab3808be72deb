package supervisor

import (
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
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
		r := journal.Record{Kind: journal.Session, Event: journal.Below, Mode: l.session.Rung.Name()}
		sum, err := sumOf(p, filepath.Join(l.session.Dirs.State, "program"))
		if err != nil {
			r.Reason = err.Error()
		} else {
			l.below.Store(&control.Program{Path: p.Path, SHA256: sum})
			r.Digest = "sha256:" + sum
		}
		l.Record(journal.Split(r, []string{p.Path})...)
	})
}

// sumOf is the digest of a program, for the record. The last one is kept in a file and taken
// again for a program with the same number, size and times: who can change it and keep those
// is root. A digest that policy demands is never taken from there.
func sumOf(p *rung.Program, kept string) (string, error) {
	if sum, ok := keptSum(p.ID, kept); ok {
		return sum, nil
	}
	sum, err := p.Sum()
	if err == nil && p.ID != "" {
		file.Replace(kept, []byte(p.ID+" "+sum+"\n"), 0o600) // if it is not kept, the next one sums up
	}
	return sum, err
}

func keptSum(id, kept string) (string, bool) {
	f, err := os.Open(kept)
	if err != nil || id == "" {
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	sum, ok := strings.CutPrefix(string(b), id+" ")
	sum, whole := strings.CutSuffix(sum, "\n")
	raw, herr := hex.DecodeString(sum)
	return sum, err == nil && ok && whole && herr == nil && len(raw) == 32 && sum == fmt.Sprintf("%x", raw)
}
