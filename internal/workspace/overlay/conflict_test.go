package overlay

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/workspace/change"
)

func (w *world) read(rel string) string {
	w.t.Helper()
	b, err := os.ReadFile(w.Root + "/" + rel)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(b)
}

// TestHostChangedMeanwhile: whatever the host did after the session began stays.
func TestHostChangedMeanwhile(t *testing.T) {
	const text = "1\n2\n3\n4\n5\n"
	based := func(b string) func(string) ([]byte, bool) {
		return func(string) ([]byte, bool) { return []byte(b), true }
	}
	for name, c := range map[string]struct {
		tree, session, host string
		later               []string // what shows that the host was at work
		base                func(string) ([]byte, bool)
		path                string
		want                Outcome
		holds               string // what the host has then; "": nothing
	}{
		"changed on both sides": {`printf 1 >f`, `printf 2 >f`, `printf 3 >f`, []string{"f"}, nil, "f", Conflict, "3"},
		"merged": {`printf '1\n2\n3\n4\n5\n' >f`, `printf '1\n2\n3\n4\nx\n' >f`, `printf 'y\n2\n3\n4\n5\n' >f`,
			[]string{"f"}, based(text), "f", Merged, "y\n2\n3\n4\nx\n"},
		"not to be merged": {`printf '1\n2\n3\n4\n5\n' >f`, `printf '1\n2\nx\n4\n5\n' >f`, `printf '1\n2\ny\n4\n5\n' >f`,
			[]string{"f"}, based(text), "f", Conflict, "1\n2\ny\n4\n5\n"},
		"no text":               {`printf '1\0' >f`, `printf '2\0' >f`, `printf '3\0' >f`, []string{"f"}, based("1\x00"), "f", Conflict, "3\x00"},
		"host put it back":      {`printf '1\0' >f`, `printf '2\0' >f`, `printf '1\0' >f`, []string{"f"}, based("1\x00"), "f", Applied, "2\x00"},
		"same on both sides":    {`printf 1 >f`, `printf 2 >f`, `printf 2 >f`, []string{"f"}, nil, "f", Same, "2"},
		"added on both sides":   {``, `printf 2 >f`, `printf 3 >f`, []string{"f"}, nil, "f", Conflict, "3"},
		"same added":            {``, `printf 2 >f`, `printf 2 >f`, []string{"f"}, nil, "f", Same, "2"},
		"deleted inside":        {`printf 1 >f`, `rm f`, `printf 3 >f`, []string{"f"}, nil, "f", Conflict, "3"},
		"deleted on the host":   {`printf 1 >f`, `printf 2 >f`, `printf 3 >f; rm f`, []string{"."}, nil, "f", Conflict, ""},
		"deleted, base knows":   {`printf 1 >f; ln f g`, `printf 2 >f`, `rm -f f`, nil, based("1"), "f", Conflict, ""},
		"deleted on both sides": {`printf 1 >f`, `rm f`, `rm -f f`, nil, nil, "f", Same, ""},
		"new in a deleted directory": {`mkdir d; printf 1 >d/f`, `rm -r d`, `printf 3 >d/g`,
			[]string{"d/g"}, nil, "d", Conflict, ""},
		"directory gone on the host": {`mkdir d; printf 1 >d/f`, `printf 2 >d/g`, `rm -rf d`, nil, nil, "d/g", Conflict, ""},
		"moved and edited":           {`printf 1 >g`, `mv g f; printf 2 >f`, `:`, nil, nil, "f", Applied, "2"},
		"directory replaced, child changed": {`mkdir d; printf 1 >d/f; printf 1 >d/e`, `rm -r d; printf 2 >d`, `printf 3 >d/f`,
			[]string{"d/f"}, nil, "d", Conflict, ""},
		"git's index": {`mkdir .git; printf 1 >.git/index`, `printf 2 >.git/index`, `printf 3 >.git/index`,
			[]string{".git/index"}, nil, ".git/index", Conflict, "3"},
		"a branch named index": {`mkdir -p .git/refs; printf 1 >.git/refs/index`, `printf 2 >.git/refs/index`, `printf 3 >.git/refs/index`,
			[]string{".git/refs/index"}, nil, ".git/refs/index", Conflict, "3"},
		"link changed on the host": {`ln -s 1 f`, `ln -sfn 2 f`, `ln -sfn 3 f`, []string{"f"}, nil, "f", Conflict, ""},
		"file turned into a link":  {`printf 1 >f`, `printf 2 >f`, `rm -f f; ln -s 3 f`, []string{"f"}, nil, "f", Conflict, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tempDir(t), c.tree)
			w.session(c.session)
			w.onHost(c.host, c.later...)
			w.Base = c.base
			host := snapshot(t, w.Root)
			got := w.apply(nil, nil)[c.path]
			if got.Outcome != c.want || got.Outcome == Conflict && got.Why == "" {
				t.Errorf("%+v, want %s", got, c.want)
			}
			if c.holds != "" && w.read(c.path) != c.holds {
				t.Errorf("the host has %q, want %q", w.read(c.path), c.holds)
			}
			if c.want != Conflict {
				w.looks(snapshot(t, w.Root))
				return
			}
			if now := snapshot(t, w.Root); now[c.path] != host[c.path] {
				t.Errorf("the host had %v, and has %v", host[c.path], now[c.path])
			}
			if rest := w.changes(); len(rest) == 0 {
				t.Error("nothing waits any more")
			}
		})
	}
}

// TestReplacedDirectoryStaysWhole: no child goes if the directory has to stay.
func TestReplacedDirectoryStaysWhole(t *testing.T) {
	w := newWorld(t, tempDir(t), `mkdir d; printf 1 >d/f; printf 1 >d/e`)
	w.session(`rm -r d; printf 2 >d`)
	w.onHost(`printf 3 >d/f`, "d/f")
	host := snapshot(t, w.Root)
	w.apply(nil, nil)
	if diff := cmp.Diff(host, snapshot(t, w.Root)); diff != "" {
		t.Errorf("the host changed (-before +after):\n%s", diff)
	}
}

// TestSaid: only what was shown is brought over.
func TestSaid(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >a; printf 1 >b; printf 1 >c; printf 1 >e; printf move >m`)
	w.session(`printf 2 >a; printf 2 >b; rm c; chmod 700 e; mv m n`)
	said := w.changes()
	w.session(`printf 3 >b; printf new >d; printf 2 >c; chmod 777 e`)
	got := map[string]Outcome{}
	for p, r := range w.apply(nil, said) {
		if got[p] = r.Outcome; r.Outcome == Conflict && r.Why != "changed since it was shown" {
			t.Errorf("%q: %s", p, r.Why)
		}
	}
	want := map[string]Outcome{"a": Applied, "b": Conflict, "c": Conflict, "d": Conflict, "e": Conflict, "n": Applied}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if w.read("b") != "1" || w.read("c") != "1" || w.read("n") != "move" {
		t.Error("the host has something else than was shown")
	}
	if got := w.apply(nil, []change.Change{}); len(got) != 4 {
		t.Errorf("nothing was shown, and %v", got)
	}
}

// TestGitOrder: no reference reaches the host without the objects it needs.
func TestGitOrder(t *testing.T) {
	w := newWorld(t, tempDir(t), `mkdir -p .git/refs/heads .git/objects .git/logs; printf old >.git/HEAD`)
	w.session(`
		mkdir .git/objects/ab .git/refs/heads/objects; printf obj >.git/objects/ab/1; printf ref >.git/refs/heads/a; printf ref >.git/refs/heads/objects/b; printf packed >.git/packed-refs
		printf new >.git/HEAD; printf idx >.git/index; printf 1 >.git/logs/HEAD; printf 1 >src`)
	said := w.changes()
	a := &applier{editor: editor{sides: &sides{l: w.Layer}}}
	var order []string
	for stage := range stageCount {
		for _, c := range said {
			it := &item{entry: entry{path: c.Path}, act: creation(c.New)}
			if a.stage(it) == stage {
				order = append(order, strings.TrimPrefix(c.Path, ".git/"))
			}
		}
	}
	want := []string{"objects/ab", "refs/heads/objects", "objects/ab/1", "index", "logs/HEAD", "src",
		"packed-refs", "refs/heads/a", "refs/heads/objects/b", "HEAD"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	w.session(`printf swapped >.git/objects/ab/1`)
	got := w.apply(nil, said)
	for _, p := range []string{".git/objects/ab/1", ".git/refs/heads/a", ".git/refs/heads/objects/b", ".git/packed-refs", ".git/HEAD"} {
		if got[p].Outcome != Conflict {
			t.Errorf("%s: %v", p, got[p])
		}
	}
	if w.read(".git/HEAD") != "old" || w.read("src") != "1" {
		t.Errorf("HEAD %q, src %q", w.read(".git/HEAD"), w.read("src"))
	}
}

// TestPartsOfMoves: the halves of an edited move can be applied one by one.
func TestPartsOfMoves(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >a`)
	view := w.session(`mv a b; printf 2 >b`)
	w.noConflicts(w.apply([]string{"a"}, nil))
	if w.read("a") != "" || w.read("b") != "" {
		t.Error("more or less was applied than was named")
	}
	w.noConflicts(w.apply([]string{"b"}, nil))
	w.looks(view)
}
