package verify

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

func TestChecksAndProbesAreTheSame(t *testing.T) {
	var names []string
	number := map[int]string{}
	for _, c := range Checks() {
		if other, taken := number[c.N]; taken || c.N < 1 || c.N > len(Checks()) {
			t.Errorf("%s has number %d, which is not free (%q) or leaves a gap", c.Name, c.N, other)
		}
		number[c.N] = c.Name
		if c.Wall != "" && !slices.Contains(plan.AllWalls(), c.Wall) {
			t.Errorf("%s: no such wall %q", c.Name, c.Wall)
		}
		if len(c.Defence) > defenceWidth || len(c.Mechanism) > mechanismWidth {
			t.Errorf("%s does not fit: %q, %q", c.Name, c.Defence, c.Mechanism)
		}
		if c.Some && c.N <= 66 {
			t.Errorf("%s was every rung's, and is left to some", c.Name)
		}
		if c.N < 70 { // those of a machine are proved from this side alone
			names = append(names, c.Name)
		}
	}
	// People cite numbers, so they stay with what they were given to.
	for n, name := range map[int]string{1: "entered", 7: "pid", 31: "landlock", 42: "work", 43: "gate-loopback", 60: "death", 62: "gate-decoy", 63: "held", 66: "undo", 67: "kernel", 68: "link", 69: "link-end", 70: "nic", 71: "share"} {
		if number[n] != name {
			t.Errorf("check %d is %q, and was %q", n, number[n], name)
		}
	}
	// In any order: the one that ends the gate runs last, whatever its number.
	slices.Sort(names)
	if probes := slices.Sorted(slices.Values(slices.Concat(probe.Names(), probe.NetNames(), probe.LinkNames()))); !slices.Equal(names, probes) {
		t.Errorf("checks %q\nprobes %q", names, probes)
	}
	for _, w := range plan.AllWalls() {
		if !slices.ContainsFunc(Checks(), func(c Check) bool { return c.Wall == w }) {
			t.Errorf("no check for wall %q", w)
		}
	}
}

func TestTableFits(t *testing.T) {
	var r Report
	r.Rung, r.Witness = "native", "the kernel"
	for _, c := range Checks() {
		r.Rows = append(r.Rows, Row{N: c.N, Defence: c.Defence, Mechanism: c.Mechanism, Result: Held})
	}
	r.Rows[3].Result, r.Rows[3].Detail = Missing, strings.Repeat("é", 200)+" "+strings.Repeat("word ", 60)
	r.Rows[5].Result, r.Rows[5].Detail = Waived, "policy"
	r.Rows[66].Result, r.Rows[66].Detail = NotApplied, "another's"
	for i := range 3 {
		r.Rows[7+i].Result, r.Rows[7+i].Detail = Missing, "the same"
	}
	var b bytes.Buffer
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > width || !utf8.ValidString(line) || strings.TrimRight(line, " ") != line {
			t.Errorf("line %q", line)
		}
	}
	for _, want := range []string{"\n4 missing: ", "\n6 waived: policy\n", "\n8-10 missing: the same\n", "\n67 n/a: another's\n", "70 checks: 65 held, 0 partly, 1 waived, 4 missing\nrung native; seen from outside by the kernel\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
