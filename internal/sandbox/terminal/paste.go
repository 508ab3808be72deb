package terminal

import "time"

// What a terminal sends around a paste where it was asked to.
const (
	PasteBegin = "\x1b[200~"
	PasteEnd   = "\x1b[201~"
)

// statusOK is how a terminal answers CSI 5 n.
const statusOK = "\x1b[0n"

// pasteStalls is how long a paste may pause when its end can no longer be counted on:
// the agent has told the terminal to mark pastes no more, and some then leave the end
// of one out that is under way.
const pasteStalls = time.Second

// Pastes follows what a terminal sends, split at any byte, and knows whether a paste is
// under way. It changes nothing.
type Pastes struct {
	seq    [len(PasteBegin)]byte // a sequence that may become one of the above
	n      int
	open   bool
	ends   int  // pastes that have ended
	speaks bool // the terminal has answered CSI 5 n before
	status int  // answers to CSI 5 n, outside of pastes: a paste may hold anything
	within int  // and in the one that is open
	last   time.Time
}

// Open reports whether a paste has begun and not ended.
func (p *Pastes) Open() bool { return p.open }

// Scan follows b. A paste can begin only where the terminal was ever asked to mark
// them; on says whether it is asked to now. The beginning of b that is all of one kind
// is returned, the rest is not yet followed: call Scan again with it.
func (p *Pastes) Scan(b []byte, ever, on bool) (n int, pasted bool) {
	now := time.Now()
	if p.open && !on && now.Sub(p.last) > pasteStalls {
		p.open = false
	}
	p.last = now
	pasted = p.open
	for n < len(b) {
		p.step(b[n], ever)
		n++
		if p.open != pasted {
			break
		}
	}
	return n, pasted
}

// Follow follows all of b, with no thought of silence: a paste ends where it is marked.
func (p *Pastes) Follow(b []byte, ever bool) {
	for len(b) > 0 {
		n, _ := p.Scan(b, ever, true)
		b = b[n:]
	}
}

func (p *Pastes) step(c byte, ever bool) {
	switch {
	case c == esc:
		p.n = 0
	case p.n == 0:
		return
	case p.n == len(p.seq): // too long to be one of ours
		p.n = 0
		return
	}
	p.seq[p.n] = c
	p.n++
	switch string(p.seq[:p.n]) {
	case PasteBegin:
		p.open = p.open || ever
	case PasteEnd:
		p.open, p.within = false, 0
		p.ends++
	case statusOK:
		if p.open {
			p.within++
		} else {
			p.status++
			p.speaks = true
		}
	}
}
