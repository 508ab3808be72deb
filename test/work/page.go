package work

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/verify"
)

// Page is what docs/rungs.md says of the checks of one rung: how many are held, and by
// "NUMBER DEFENCE" the others.
type Page struct {
	held   int
	others map[string]other
}

type other struct {
	verdict verify.Verdict
	reason  string
}

var (
	heldLine = regexp.MustCompile("(?m)^`ringfence verify --rung ([a-z]+)` says ([0-9]+) held")
	otherRow = regexp.MustCompile(`(?m)^\| ([0-9]+ [^|]+) \| (partly|waived|missing|n/a) \| ([^|]+) \|$`)
)

// Pages has one page of every rung, and one of every variant of one: "RUNG, VARIANT".
func Pages(t *testing.T) map[string]Page {
	t.Helper()
	text, err := os.ReadFile("../../docs/rungs.md")
	if err != nil {
		t.Fatal(err)
	}
	out, variants := map[string]Page{}, 0
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, _, _ := strings.Cut(section, "\n")
		rung, variant, _ := strings.Cut(name, ", ")
		if !slices.Contains(policy.RungNames(), rung) {
			continue // what several rungs share
		}
		said := heldLine.FindAllStringSubmatch(section, -1)
		if len(said) != 1 || said[0][1] != rung {
			t.Fatalf("docs/rungs.md: %s does not say once how many checks are held: %q", name, said)
		}
		held, err := strconv.Atoi(said[0][2])
		if err != nil {
			t.Fatal(err)
		}
		p := Page{held, map[string]other{}}
		for _, row := range otherRow.FindAllStringSubmatch(section, -1) {
			p.others[row[1]] = other{verify.Verdict(row[2]), row[3]}
		}
		out[name] = p
		if variant != "" {
			variants++
		}
	}
	for _, name := range policy.RungNames() {
		if _, ok := out[name]; !ok {
			t.Errorf("docs/rungs.md has nothing of %s", name)
		}
	}
	if len(out) != len(policy.RungNames())+variants {
		t.Errorf("docs/rungs.md has %d rungs, the ladder %d", len(out), len(policy.RungNames()))
	}
	return out
}

// Compare wants a report to be what the page says, line by line. The page may say more of
// a reason than verify does.
func (p Page) Compare(t *testing.T, r verify.Report) {
	t.Helper()
	if p.others == nil {
		t.Fatalf("%s has no page: docs/rungs.md lacks it, or this test is built without that rung", r.Rung)
	}
	if n := r.Count(verify.Held); n != p.held {
		t.Errorf("%s: %d are held, and docs/rungs.md says %d", r.Rung, n, p.held)
	}
	shown := 0
	for _, row := range r.Rows {
		name := fmt.Sprintf("%d %s", row.N, row.Defence)
		said, there := p.others[name]
		switch {
		case there:
			shown++
			if row.Result != said.verdict || !strings.HasPrefix(said.reason, row.Detail) {
				t.Errorf("%s: %s is %s: %s\ndocs/rungs.md says %s: %s", r.Rung, name, row.Result, row.Detail, said.verdict, said.reason)
			}
		case row.Result != verify.Held:
			t.Errorf("%s: %s is %s (%s), and docs/rungs.md does not say so", r.Rung, name, row.Result, row.Detail)
		}
	}
	if shown != len(p.others) {
		t.Errorf("%s: docs/rungs.md has %d checks that are not held, %d of them exist", r.Rung, len(p.others), shown)
	}
}
