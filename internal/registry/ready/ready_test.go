package ready

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// blob is a file as the store keeps one.
func blob(t *testing.T, state, text string) *os.File {
	t.Helper()
	path := filepath.Join(state, "registry/blobs", text)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func view(t *testing.T, state, judged string, lasts time.Duration) *View {
	t.Helper()
	v, err := At(state, "tool", judged, lasts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// put makes a layer of a view with one file.
func put(t *testing.T, v *View, state, text string) {
	t.Helper()
	h := v.Hold(time.Now())
	defer h.Close()
	g := v.Gather(h)
	g.Link(blob(t, state, text), "dir/"+text)
	if err := g.Publish(); err != nil {
		t.Fatal(err)
	}
}

// shown is what a session is shown of a view.
func shown(v *View, now time.Time) (out []string) {
	h := v.Hold(now)
	defer h.Close()
	for _, p := range h.Paths {
		names, _ := filepath.Glob(p + "/dir/*")
		for _, n := range names {
			out = append(out, filepath.Base(n))
		}
	}
	slices.Sort(out)
	return out
}

// What one judgement let through is shown for the same judgement, as long as that lasts.
func TestView(t *testing.T) {
	state := t.TempDir()
	a, b := view(t, state, "a", time.Hour), view(t, state, "b", 0)
	put(t, a, state, "one")
	put(t, b, state, "two")
	now := time.Now()
	if got := shown(a, now); !slices.Equal(got, []string{"one"}) {
		t.Errorf("a: %q", got)
	}
	if got := shown(b, now.Add(1000*time.Hour)); !slices.Equal(got, []string{"two"}) {
		t.Errorf("b, which is for ever: %q", got)
	}
	if got := shown(a, now.Add(2*time.Hour)); len(got) > 0 {
		t.Errorf("a, later: %q", got)
	}
	if got := shown(view(t, state, "c", 0), now); len(got) > 0 {
		t.Errorf("c: %q", got)
	}
}

// A layer is seen whole or not at all: not before it is published, and what a supervisor that
// was killed left behind is never seen, and goes.
func TestHalfMade(t *testing.T) {
	state := t.TempDir()
	v := view(t, state, "a", 0)
	g := v.Gather(v.Hold(time.Now()))
	g.Link(blob(t, state, "one"), "dir/one")
	if got := shown(v, time.Now()); len(got) > 0 {
		t.Errorf("not published: %q", got)
	}
	if paths, _, _ := Excess(state, 1<<30, time.Now()); len(paths) > 0 {
		t.Errorf("what is being made goes: %q", paths)
	}
	g.lock.Close() // as when it is killed
	paths, _, _ := Excess(state, 1<<30, time.Now())
	if len(paths) != 1 {
		t.Fatalf("what was left: %q", paths)
	}
	if err := Drop(paths[0]); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "registry/ready/new/*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// What has no name in the store is not taken in: it was lent, or could not be proved.
func TestOnlyWhatIsKept(t *testing.T) {
	state := t.TempDir()
	v := view(t, state, "a", 0)
	f := blob(t, state, "lent")
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	g := v.Gather(v.Hold(time.Now()))
	g.Link(f, "dir/lent")
	if err := g.Publish(); err != nil {
		t.Fatal(err)
	}
	if got := shown(v, time.Now()); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// Nobody removes what a session shows; what is shown no more goes, whole.
func TestHeld(t *testing.T) {
	state := t.TempDir()
	v := view(t, state, "a", 0)
	put(t, v, state, "one")
	os.Remove(filepath.Join(state, "registry/blobs/one")) // else it takes nothing by itself
	h := v.Hold(time.Now())
	if len(h.Paths) != 1 {
		t.Fatal(h.Paths)
	}
	if paths, _, left := Excess(state, 0, time.Now()); len(paths) > 0 || left != 3 {
		t.Errorf("held: %q, %d left", paths, left)
	}
	if err := Drop(h.Paths[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(h.Paths[0], "dir/one")); err != nil {
		t.Error(err)
	}
	h.Close()
	paths, excess, left := Excess(state, 0, time.Now())
	if len(paths) != 1 || excess != 3 || left != 0 {
		t.Fatalf("%q, %d, %d", paths, excess, left)
	}
	if err := Drop(paths[0]); err != nil {
		t.Fatal(err)
	}
	if got := shown(v, time.Now()); len(got) > 0 {
		t.Errorf("afterwards: %q", got)
	}
}

// Many layers become one, which has what they had.
func TestMany(t *testing.T) {
	state := t.TempDir()
	v := view(t, state, "a", 0)
	var want []string
	for i := range 2*maxLayers + 3 {
		name := "f" + strconv.Itoa(100+i)
		put(t, v, state, name)
		want = append(want, name)
	}
	if got := shown(v, time.Now()); !slices.Equal(got, want) {
		t.Errorf("shown: %q", got)
	}
	if n := len(layers(v.dir)); n > maxLayers {
		t.Errorf("%d layers", n)
	}
}

// What is made beside the session is there when it ends, and what fails is left out.
func TestLater(t *testing.T) {
	state := t.TempDir()
	v := view(t, state, "a", 0)
	g := v.Gather(v.Hold(time.Now()))
	f := blob(t, state, "one")
	for i := range 20 {
		g.Later(f, "dir/"+strconv.Itoa(i), func(dir string, f *os.File) error {
			if i%2 == 1 {
				return os.ErrInvalid
			}
			return LinkAt(f, filepath.Join(dir, "dir", strconv.Itoa(i)))
		})
	}
	f.Close() // the door has served it
	if err := g.Publish(); err != nil {
		t.Fatal(err)
	}
	if got := shown(v, time.Now()); len(got) != 10 {
		t.Errorf("%q", got)
	}
	g.Later(f, "dir/late", nil)
	g.Link(f, "dir/late")
	if err := g.Publish(); err != nil {
		t.Error(err)
	}
	var none *Gathering // where nothing is gathered
	none.Link(f, "x")
	none.Later(f, "x", nil)
	if err := none.Publish(); err != nil {
		t.Error(err)
	}
}
