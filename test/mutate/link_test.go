package mutate

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/tier"
)

// onLink are the defences of a link. What the far end raises is native's. A link that is
// ended for a forged frame, and whose streams go on, has not ended.
var onLink = []mutation{{name: "link", missing: []string{"link"}}, {name: "link-end", missing: []string{"link", "link-end"}}}

// TestLinkMutations: over a link its own checks are held, and each turns when what it proves
// is taken away. The far end is one on this machine, which only a test build has; it stands
// there in the place of the native rung.
func TestLinkMutations(t *testing.T) {
	for _, name := range probe.LinkNames() {
		if !slices.ContainsFunc(onLink, func(m mutation) bool { return slices.Contains(m.missing, name) }) {
			t.Errorf("no mutation turns %s", name)
		}
	}
	bin := build(t, "ringfence_mutate,ringfence_loop")
	all := users(t, "")
	for n, u := range all {
		t.Run(u.name, func(t *testing.T) {
			base, said := u.verify(t, bin, "native", "")
			overLink(t, base, said)
			for i, m := range onLink {
				if len(all) == 2 && i != n && !tier.All() {
					continue // the other user's
				}
				t.Run(m.name, func(t *testing.T) { m.test(t, u, bin, "native", base) })
			}
		})
	}
}

// overLink: nothing is missing over a link. Of some walls the far end alone says that they stand,
// and docs/rungs.md says of how many.
func overLink(t *testing.T, r verify.Report, said string) {
	t.Helper()
	for _, row := range r.Rows {
		word := row.Result == verify.Partly && strings.HasPrefix(row.Detail, "closed inside, and nobody outside saw ")
		if row.Result != verify.Held && row.Result != verify.NotApplied && !word {
			t.Errorf("%d %s is %s: %s\n%s", row.N, row.Name, row.Result, row.Detail, said)
		}
	}
	page, err := os.ReadFile("../../docs/rungs.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%d checks are *held* there, %d *partly*", r.Count(verify.Held), r.Count(verify.Partly)); !strings.Contains(string(page), want) {
		t.Errorf("docs/rungs.md does not say: %s", want)
	}
}
