package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// found is a finding as plants name it.
func (f *fixture) found(x Finding) string {
	path := x.Where.Path
	for _, d := range []struct{ dir, name string }{{f.World.Project, "P"}, {f.World.Home, "HOME"}} {
		if path == d.dir || strings.HasPrefix(path, d.dir+"/") {
			path = d.name + strings.TrimPrefix(path, d.dir)
			break
		}
	}
	if filepath.IsAbs(path) {
		path = "ROOT" + path
	}
	return x.ID + " " + path
}

func (f *fixture) audit() *Report { return Audit(context.Background(), f.World) }

// weak lists what is more than inventory.
func (f *fixture) weak(r *Report) (out []string) {
	for _, x := range r.Findings {
		if x.Severity != Info {
			out = append(out, f.found(x))
		}
	}
	slices.Sort(out)
	return out
}

func names(list []plant) (out []string) {
	for _, p := range list {
		out = append(out, p.id+" "+p.where)
	}
	slices.Sort(out)
	return out
}

func TestCleanHomeHasNoFindings(t *testing.T) {
	f := newFixture(t)
	r := f.audit()
	if weak := f.weak(r); len(weak) > 0 {
		t.Errorf("findings in a clean home: %q\n%s", weak, dump(r))
	}
	if len(r.Triggers) > 0 || len(r.Notes) > 0 {
		t.Errorf("triggers %+v, notes %q", r.Triggers, r.Notes)
	}
	if r.Rung.Level != "L2" {
		t.Errorf("rung %+v", r.Rung)
	}
	if r.Checks != len(Checks()) {
		t.Errorf("%d rows asked of %d", r.Checks, len(Checks()))
	}
}

// TestEveryPlantIsFound: all of them together, each once, at its place and line.
func TestEveryPlantIsFound(t *testing.T) {
	if len(plants) < 40 {
		t.Fatalf("%d plants, forty are promised", len(plants))
	}
	f := newFixture(t)
	for _, p := range plants {
		p.do(f)
	}
	r := f.audit()
	got, want := f.weak(r), names(plants)
	for _, w := range want {
		if n := count(got, w); n != 1 {
			t.Errorf("%s: found %d times", w, n)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s: found, and nobody planted it", g)
		}
	}
	for _, p := range plants {
		for _, x := range r.Findings {
			if f.found(x) == p.id+" "+p.where && (p.line >= 0 && x.Where.Line != p.line || p.line < 0 && x.Where.Line == 0) {
				t.Errorf("%s %s: line %d, want %d", p.id, p.where, x.Where.Line, p.line)
			}
		}
	}
	t.Logf("%d plants, %d rows", len(plants), len(Checks()))
	if s := dump(r); strings.Contains(s, fakeToken) || strings.Contains(s, fakeWord) || strings.Contains(s, "a1a1a1a1") {
		t.Error("a report holds the value of a secret")
	}
}

// TestEachPlantIsItsOwnFinding: taken away alone, exactly its finding goes.
func TestEachPlantIsItsOwnFinding(t *testing.T) {
	for i := range plants {
		t.Run(plants[i].id, func(t *testing.T) {
			f := newFixture(t)
			rest := slices.Delete(slices.Clone(plants), i, i+1)
			for _, p := range rest {
				p.do(f)
			}
			if got, want := f.weak(f.audit()), names(rest); !slices.Equal(got, want) {
				t.Errorf("without %s:\nmissing %q\nfurther %q", plants[i].id, without(want, got), without(got, want))
			}
		})
	}
}

func count(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func without(a, b []string) (out []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

func dump(r *Report) string {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestRowsAreWhole: what is shown to people is there, and ids are stable and unique.
func TestRowsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.ID] || len(c.ID) != 6 || c.ID[:3] != "AU-" {
			t.Errorf("id %q", c.ID)
		}
		seen[c.ID] = true
		if c.Title == "" || c.Gets == "" || c.Fix == "" || c.Severity.rank() < 0 || c.probe == nil {
			t.Errorf("%s is not whole", c.ID)
		}
		if strings.HasSuffix(c.Title, ".") || strings.HasSuffix(c.Gets, ".") {
			t.Errorf("%s ends in a full stop", c.ID)
		}
		if n := strings.Count(c.Fix, "{}"); n > 1 {
			t.Errorf("%s: %d places in its fix", c.ID, n)
		}
	}
	if got := fmt.Sprint(len(Checks())); len(Checks()) < 80 {
		t.Errorf("only %s rows", got)
	}
}

// Where everybody may write and nobody takes another's file away, ringfence cannot be
// replaced; where everybody may do both, it can.
func TestStickyDirectory(t *testing.T) {
	f := newFixture(t)
	dir := filepath.Dir(f.World.Binary)
	replaced := func(weak string) bool { return strings.HasPrefix(weak, "AU-160 ") }
	f.chmod(dir, 0o777|os.ModeSticky)
	if weak := f.weak(f.audit()); slices.ContainsFunc(weak, replaced) {
		t.Errorf("findings: %q", weak)
	}
	f.chmod(dir, 0o777)
	if weak := f.weak(f.audit()); !slices.ContainsFunc(weak, replaced) {
		t.Errorf("an open directory was not found: %q", weak)
	}
}
