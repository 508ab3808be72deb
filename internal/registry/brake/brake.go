// Package brake says which releases of packages are held back: most poisoned releases
// are found within days.
package brake

import (
	"fmt"
	"time"

	"ringfence.dev/ringfence/internal/policy"
)

// Rules are how long a release must have been out, and which packages are exempt.
type Rules struct {
	Age    time.Duration // 0: nothing is held back
	Exempt func(tool, name string) bool
	Now    func() time.Time
}

// Of reads them from policy.
func Of(s *policy.Supply) Rules {
	return Rules{Age: s.MinAge(), Exempt: s.Exempts, Now: time.Now}
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

func span(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return fmt.Sprintf("%d hours", d/time.Hour)
}
