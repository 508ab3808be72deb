package attack

import (
	"fmt"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/rungs"
)

// Verdicts on one run.
const (
	verdictOpen    = "open"
	verdictClosed  = "closed"
	verdictMoot    = "moot"    // the host itself closes it
	verdictRefused = "refused" // nothing was started
	verdictHolds   = "holds"   // a positive control or a launch went as it must
	verdictFault   = "FAULT"   // neither yes nor no
)

// launchRefused is the status of a launch that was refused.
const launchRefused = 125

// try runs one case as one user by one way.
func (m *machine) try(t *testing.T, c Case, u user, w way) row {
	t.Helper()
	r := row{id: c.ID, user: u.name, way: w.name, kind: c.Kind, title: c.Title}
	got, err := m.run(c, u, w.args)
	if err != nil {
		t.Fatal(err)
	}
	r.verdict = judge(c, got)
	if c.byViews() && c.Kind != kindLaunch {
		for _, fault := range got.faults(c, w.name) {
			t.Errorf("%s: %s\n%s (%s)", c.ID, c.Title, fault, c.Wall)
			r.verdict = verdictOpen
		}
	}
	if c.Residual != "" && !rungs.Plain() && r.verdict == verdictClosed {
		return r // so much the better
	}
	if want := wanted(c); r.verdict != want && !(r.verdict == verdictRefused && c.Refused) {
		t.Errorf("%s: %s\n%s, want %s (%s)\n%s", c.ID, c.Title, r.verdict, want, c.Wall, got)
	}
	if c.Residual != "" && r.verdict == verdictOpen {
		r.verdict = "residual"
	}
	r.why = got.Asked
	for _, fault := range got.Why {
		t.Errorf("%s: %s", c.ID, fault)
	}
	for _, change := range got.Left {
		t.Errorf("%s left behind on the host: %s", c.ID, change)
	}
	for _, change := range got.Changed {
		t.Errorf("%s changed the host: %s", c.ID, change)
	}
	return r
}

// control runs the same outside, where it must be open: or work, if it is what
// must work inside.
func (m *machine) control(t *testing.T, c Case, u user) string {
	t.Helper()
	if c.Kind == kindLaunch || c.Residual != "" {
		return "" // a probe that says "open" inside needs no proof that it can
	}
	if c.byViews() && u.uid == 0 {
		return "by user" // what a workspace is to the host does not depend on who owns it
	}
	by, ok := m.controller(c, u)
	if !ok {
		return "needs " + c.Control
	}
	got, err := m.run(c, by, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := verdictOpen
	if c.Kind == kindPos {
		want = verdictHolds
	}
	verdict := judge(c, got)
	if got.Moot {
		return verdictMoot
	}
	if missed := got.untouched(c); len(missed) > 0 && verdict == want && c.Kind != kindPos {
		verdict = fmt.Sprintf("closed for %q", missed)
	}
	if verdict == want && c.Kind == kindNeg {
		verdict = everyLine(got.Out)
	}
	if verdict == verdictClosed && allAbsent(got.Out) {
		return verdictMoot
	}
	if verdict != want {
		t.Errorf("%s as %s, outside: %s, want %s: the probe proves nothing\n%s", c.ID, by.name, verdict, want, got)
	}
	return verdict
}

// controller says who runs the control.
func (m *machine) controller(c Case, u user) (user, bool) {
	if c.Control == "" {
		return u, true
	}
	for _, other := range users() {
		if other.name == c.Control {
			return other, true
		}
	}
	return user{}, false
}

func wanted(c Case) string {
	switch {
	case c.Residual != "":
		return verdictOpen
	case c.Kind == kindNeg || c.Kind == kindHost || c.Kind == kindWork:
		return verdictClosed
	}
	return verdictHolds
}

// judge reads one run. A status that is neither yes nor no is never taken for
// "closed": a tool that is missing inside would make any probe look good.
func judge(c Case, got *outcome) string {
	switch {
	case c.Kind == kindLaunch:
		return pick(got.Status == 0, verdictHolds, verdictOpen)
	case !got.Ran && got.Status == launchRefused:
		return verdictRefused
	case !got.Ran:
		return verdictFault
	case c.Kind == kindPos:
		return pick(got.Status == 0, verdictHolds, verdictFault)
	case c.Kind == kindHost && c.Check != "":
		return pick(got.CheckStatus == 0, verdictOpen, pick(got.CheckStatus == 1, verdictClosed, verdictFault))
	case c.Kind == kindWork && c.Check != "":
		return pick(got.CheckStatus == 0, verdictOpen, pick(got.CheckStatus == 1, verdictClosed, verdictFault))
	case c.Kind == kindWork:
		return pick(got.Outside, verdictOpen, verdictClosed) // what it did to the workspace is judged beside
	case c.Kind == kindHost:
		return pick(len(got.Changed) > 0, verdictOpen, verdictClosed)
	case (c.Killed || c.Sentry && rungs.Name() == rungs.GVisor) && got.Status == 128+9:
		return verdictClosed
	case got.Status == 0:
		return verdictOpen
	case got.Status == 1:
		return verdictClosed
	}
	return verdictFault
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// everyLine wants each single thing that the probe tried to be open outside, but
// for what this kernel does not have: else a list could hide a name that is not
// there to be found.
func everyLine(out string) string {
	for line := range strings.Lines(out) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if (word == "closed" || word == "seen") && !strings.HasSuffix(rest, " ENOSYS") {
			return verdictClosed
		}
	}
	return verdictOpen
}

// allAbsent says that the kernel has nothing of what the probe tried.
func allAbsent(out string) bool {
	tried := 0
	for line := range strings.Lines(out) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "open" || word == "seen" || word == "closed" && !strings.HasSuffix(rest, " ENOSYS") {
			return false
		}
		if word == "closed" {
			tried++
		}
	}
	return tried > 0
}

// outcome is what the stage saw.
type outcome struct {
	Fault       string // the stage itself could not do its work
	Moot        bool
	Ran         bool // the marker came
	Status      int
	Out, Err    string
	CheckStatus int
	CheckOut    string
	Changed     []string // files of the host, outside the workspace
	Left        []string // processes and mounts
	Outside     bool     // it was a control
	Tree        [][]byte // paths of the workspace that changed on the host
	Report      []entry
	Asked       int      // subjects that why was asked about
	Why         []string // what it said that was not what was seen
}

func (o *outcome) String() string {
	var out strings.Builder
	for line := range strings.Lines(o.Out) {
		if !strings.HasPrefix(line, "closed ") {
			out.WriteString(line)
		}
	}
	return fmt.Sprintf("status %d\nstdout: %.3000q\nstderr: %.3000s\ncheck: %d %.3000q\nchanged: %q\nworkspace: %.3000q",
		o.Status, out.String(), o.Err, o.CheckStatus, o.CheckOut, o.Changed, o.Tree)
}
