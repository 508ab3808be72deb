package mutate

import (
	"slices"
	"testing"

	"ringfence.dev/ringfence/test/work"
)

// TestPage runs the build that people get, on every rung that is played here and as every
// user. One that cannot be had fails. That of containers is proved in test/engine.
func TestPage(t *testing.T) {
	bin, pages := build(t, ""), work.Pages(t)
	for _, u := range users(t, "") {
		for _, name := range slices.DeleteFunc(rungs(), func(r string) bool { return r == "container" }) {
			t.Run(u.name+"/"+name, func(t *testing.T) {
				r, said := u.verify(t, bin, name, "")
				if r.Rung != name {
					t.Fatalf("proved %q: %s", r.Rung, said)
				}
				pages[name].Compare(t, r)
			})
		}
	}
}
