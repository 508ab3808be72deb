package overlay

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/workspace/change"
)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// somePath draws one of few paths, so that operations meet.
func somePath() *rapid.Generator[string] {
	name := rapid.SampledFrom([]string{"a", "b", "c", "sp ace", "bad\xff", "new\nline", ".git", "objects", "-rf"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/")
	})
}

// script draws operations. One that cannot be done is passed over.
func script(most int) *rapid.Generator[string] {
	op := rapid.Custom(func(t *rapid.T) string {
		p, q := somePath().Draw(t, "p"), somePath().Draw(t, "q")
		a, b := quote("./"+p), quote("./"+q)
		mkdir := ":"
		if i := strings.LastIndexByte(p, '/'); i >= 0 {
			mkdir = "mkdir -p " + quote("./"+p[:i])
		}
		text := rapid.SampledFrom([]string{"", "one", "two", "three"}).Draw(t, "text")
		return rapid.SampledFrom([]string{
			mkdir + " && printf '" + text + "' >" + a,
			mkdir + " && printf '" + text + "' >" + a,
			"printf '" + text + "' >>" + a,
			"rm -rf " + a,
			"rm -rf " + a + " && mkdir -p " + a,
			"rm -rf " + a + " && mkdir -p " + a + " && printf x >" + a + "/x",
			"mkdir -p " + a,
			"mv -T " + a + " " + b,
			"cp -rT " + a + " " + b,
			"chmod 755 " + a, "chmod 555 " + a, "chmod 700 " + a, "chmod 444 " + a,
			"chmod 600 " + a, "chmod u=rw,go= " + a + "/*",
			"ln -sfn target " + a,
			"ln -fT " + a + " " + b,
			"touch " + a,
		}).Draw(t, "op")
	})
	return rapid.Custom(func(t *rapid.T) string {
		var out strings.Builder
		for _, one := range rapid.SliceOfN(op, 0, most).Draw(t, "script") {
			fmt.Fprintf(&out, "{ %s; } 2>/dev/null || :\n", one)
		}
		return out.String() + ":"
	})
}

// drawWorld makes a random tree and runs a random session over it.
func drawWorld(t *rapid.T, dir string) (w *world, before, view map[string]change.Node) {
	made, err := os.MkdirTemp(dir, "world")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(made) })
	w = newWorld(t, made, script(12).Draw(t, "host")+readable)
	before = snapshot(t, w.Root)
	return w, before, w.session(script(12).Draw(t, "session") + stayReadable)
}

// readable and stayReadable see to it that the test itself can read the tree, on
// the host and in a session. The latter must not touch what is readable anyway.
const (
	readable     = "\nchmod -R u+rX ."
	stayReadable = "\nfind . -type d ! -perm -500 -exec chmod u+rx {} +; find . -type f ! -perm -400 -exec chmod u+r {} +"
)

// TestApplyIsTheView: what the session saw is what the host gets.
func TestApplyIsTheView(t *testing.T) {
	dir := tempDir(t)
	rapid.Check(t, func(t *rapid.T) {
		w, before, view := drawWorld(t, dir)
		said := w.changes()
		if diff := cmp.Diff(foldRenames(differences(before, view)), said); diff != "" {
			t.Fatalf("changes (-naive +got):\n%s", diff)
		}
		w.noConflicts(w.apply(nil, said))
		w.looks(view)
		w.emptied()
	})
}

// TestSomeIsNoMore: to apply some of it never changes what the session sees, and
// leaves alone what was not named; the rest follows later.
func TestSomeIsNoMore(t *testing.T) {
	dir := tempDir(t)
	rapid.Check(t, func(t *rapid.T) {
		w, before, view := drawWorld(t, dir)
		said := w.changes()
		paths := rapid.SliceOfN(somePath(), 1, 3).Draw(t, "paths")
		results := w.apply(paths, said)
		for p, n := range snapshot(t, w.Root) {
			if old, ok := before[p]; (!ok || old != n) && view[p] != n && n.Type != change.Directory {
				t.Errorf("%q is neither before nor after: %v", p, n)
			}
		}
		for _, c := range w.changes() {
			_, named := results[c.Path]
			if named && results[c.Path].Outcome == Applied {
				t.Errorf("%q was applied, and waits still: %v", c.Path, describe([]change.Change{c}))
			}
		}
		if diff := cmp.Diff(view, w.session(":")); diff != "" {
			t.Fatalf("after %q the session sees (-before +after):\n%s", paths, diff)
		}
		for _, r := range w.apply(nil, nil) {
			// What replaced a directory whose content went alone before is not new.
			if r.Outcome == Conflict {
				t.Errorf("%q: %s", r.Path, r.Why)
			}
		}
		w.looks(view)
		w.emptied()
	})
}

// TestDiscardForgets: what is named looks again as it does on the host, and what is
// not looks as it did.
func TestDiscardForgets(t *testing.T) {
	dir := tempDir(t)
	rapid.Check(t, func(t *rapid.T) {
		w, before, view := drawWorld(t, dir)
		said := w.changes()
		var gone []string
		if len(said) > 0 {
			for _, c := range rapid.SliceOfN(rapid.SampledFrom(said), 1, 3).Draw(t, "paths") {
				gone = append(gone, c.Path)
			}
		}
		err := w.Discard(gone)
		if err != nil && !strings.Contains(err.Error(), "discard that") {
			t.Fatal(err)
		}
		if err == nil {
			checkDiscarded(t, w, gone, before, view)
		}
		if err := w.Discard(nil); err != nil {
			t.Fatal(err)
		}
		w.emptied()
		w.looks(before)
	})
}

func checkDiscarded(t *rapid.T, w *world, gone []string, before, view map[string]change.Node) {
	now := w.session(":")
	affected := map[string]bool{}
	for _, c := range foldRenames(differences(before, view)) {
		for _, p := range gone {
			if below(c.Path, p) || c.From != "" && below(c.From, p) {
				affected[c.Path], affected[c.From] = true, true
			}
		}
	}
	for _, p := range slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(view))) {
		want, other := view, before
		if affected[p] {
			want, other = before, view
		}
		n, ok := now[p]
		if m, there := want[p]; ok == there && n == m {
			continue
		}
		// A directory that something comes back into comes back itself.
		if m, there := other[p]; n.Type == change.Directory && ok == there && n == m {
			continue
		}
		t.Errorf("after discarding %q: %q is %v, want %v", gone, p, fmt.Sprint(n, ok), want[p])
	}
}
