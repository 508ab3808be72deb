// Package brake says which packages are refused, and which releases of others are held
// back: most poisoned releases are found within days.
package brake

import (
	"fmt"
	"time"

	"ringfence.dev/ringfence/internal/policy"
)

// Rules are how long a release must have been out, which packages are exempt from that,
// and which are refused.
type Rules struct {
	Age    time.Duration // 0: nothing is held back
	Exempt func(tool, name string) bool
	Denied func(tool, name string) bool // nil: none is
	Now    func() time.Time
}

// Held is what the rules hold back, and why.
type Held struct {
	Rule string // of which it is, for the journal
	Why  string
}

func (h *Held) Error() string { return h.Why }

// Of reads them from policy.
func Of(s *policy.Supply) Rules {
	return Rules{Age: s.MinAge(), Exempt: s.Exempts, Denied: s.Denies, Now: time.Now}
}

// On holds where there is something to ask about a package.
func (r Rules) On(tool, name string) bool { return r.Age > 0 && !r.Exempt(tool, name) }

// Young holds for a release that is held back. One without a date is as young as can be.
func (r Rules) Young(tool, name string, out time.Time) bool {
	return r.On(tool, name) && (out.IsZero() || r.Now().Sub(out) < r.Age)
}

// Why tells whoever asked for a release by its number, and what would let it through.
func (r Rules) Why(tool, name, version string, out time.Time) string {
	when := "its date is not known"
	if !out.IsZero() {
		when = "it was published " + out.UTC().Format("2006-01-02 15:04") + " UTC"
	}
	return fmt.Sprintf("%s %s is held back: %s, and releases must be out for %s (age in [supply]); a person can allow it: ringfence run --allow-package %s:%s",
		name, version, when, span(r.Age), tool, name)
}

// Hold is Why as what a door fails with.
func (r Rules) Hold(tool, name, version string, out time.Time) *Held {
	return &Held{"[supply] age", r.Why(tool, name, version, out)}
}

// Bar refuses a package of which no release may be had.
func (r Rules) Bar(tool, name string) error {
	if r.Denied == nil || !r.Denied(tool, name) {
		return nil
	}
	return &Held{"[supply] deny", fmt.Sprintf("%s is refused, in every version: deny in [supply] names it", name)}
}

func span(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return fmt.Sprintf("%d hours", d/time.Hour)
}
