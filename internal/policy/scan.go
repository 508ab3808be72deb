package policy

import "slices"

// What becomes of a session in which a tool returns text that tries to give orders, from
// wide to tight.
const (
	HitWarn    = "warn"
	HitTighten = "tighten"
)

var hitWords = []string{HitWarn, HitTighten}

// Scan is what the judgement of text from outside leads to.
type Scan struct {
	OnHit *Rule // of hitWords; nil means warn
}

// OnHit is what becomes of the session.
func (p *Policy) OnHit() string {
	if p.Scan.OnHit == nil {
		return HitWarn
	}
	return p.Scan.OnHit.Value
}

func (p *Policy) hitStrength() int { return slices.Index(hitWords, p.OnHit()) }

// tightenScan takes the tighter of the two.
func tightenScan(out, over *Policy) {
	if over.hitStrength() > out.hitStrength() {
		out.Scan.OnHit = over.Scan.OnHit
	}
}

// widensScan lists what over gives up and base does not.
func widensScan(base, over *Policy) List {
	if over.Scan.OnHit != nil && over.hitStrength() < base.hitStrength() {
		return List{*over.Scan.OnHit}
	}
	return nil
}
