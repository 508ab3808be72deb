package overlay

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// copied makes a world whose layer is a full copy, and lets the clock of the
// filesystem pass the beginning of the session.
func copied(t testingT, dir, tree string) *world {
	w := newWorld(t, dir, tree)
	w.sh("rmdir upper; cp -a root upper")
	w.Copy, w.Since = true, time.Now()
	w.tick()
	return w
}

func (w *world) tick() {
	w.t.Helper()
	for range 100_000 {
		var st unix.Stat_t
		if err := os.WriteFile(w.dir+"/tick", []byte("x"), 0o600); err != nil {
			w.t.Fatal(err)
		}
		if err := unix.Stat(w.dir+"/tick", &st); err != nil {
			w.t.Fatal(err)
		}
		if w.touched(&st) {
			return
		}
	}
	w.t.Fatal("the clock of the filesystem stands still")
}

// TestCopyIsTheView: a copy behaves like an overlay.
func TestCopyIsTheView(t *testing.T) {
	dir := tempDir(t)
	rapid.Check(t, func(t *rapid.T) {
		made, err := os.MkdirTemp(dir, "world")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeAll(made) })
		w := copied(t, made, script(10).Draw(t, "host")+readable)
		before := snapshot(t, w.Root)
		w.sh("cd upper; " + script(10).Draw(t, "session") + readable)
		view := snapshot(t, w.Upper)
		if rapid.Bool().Draw(t, "discard") {
			if err := w.Discard(nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, snapshot(t, w.Upper)); diff != "" {
				t.Fatalf("the copy after discard (-want +got):\n%s", diff)
			}
			w.looks(before)
			return
		}
		said := w.changes()
		if diff := cmp.Diff(foldRenames(differences(before, view)), said); diff != "" {
			t.Fatalf("changes (-naive +got):\n%s", diff)
		}
		w.noConflicts(w.apply(nil, said))
		w.looks(view)
	})
}

// TestCopyAndHost: what the host does meanwhile is no change of the session.
func TestCopyAndHost(t *testing.T) {
	w := copied(t, tempDir(t), `printf '1\n2\n3\n' >text; printf 1 >a; printf 1 >b; printf 1 >gone; mkdir d; printf 1 >d/e; printf 1 >c; mkdir .git; printf 1 >.git/index`)
	w.Base = func(rel string) ([]byte, bool) { return []byte("1\n2\n3\n"), rel == "text" }
	w.sh(`cd upper; printf '1\n2\nx\n' >text; printf 2 >b; rm c; printf s >suid; chmod 4755 suid; printf 2 >.git/index; mkfifo pipe`)
	w.onHost(`printf 'y\n2\n3\n' >text; printf host >a; rm -f gone; printf new >new; rm -rf d; printf 3 >.git/index`, "text", "a", ".git/index")
	want := "changed \".git/index\"\nchanged \"b\"\ndeleted \"c\"\nadded \"pipe\"\nadded \"suid\"\nchanged \"text\"\n"
	if got := describe(w.changes()); got != want {
		t.Errorf("changes:\n%swant:\n%s", got, want)
	}
	got := map[string]Outcome{}
	for p, r := range w.apply(nil, nil) {
		got[p] = r.Outcome
	}
	if diff := cmp.Diff(map[string]Outcome{".git/index": Conflict, "b": Applied, "c": Applied, "pipe": Conflict, "suid": Applied, "text": Merged}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	for p, want := range map[string]string{"text": "y\n2\nx\n", "a": "host", "b": "2", "new": "new", ".git/index": "3", "gone": "", "c": ""} {
		if w.read(p) != want {
			t.Errorf("%s is %q, want %q", p, w.read(p), want)
		}
	}
	if got := describe(w.changes()); got != "changed \".git/index\"\nadded \"pipe\"\n" {
		t.Errorf("still waiting:\n%s", got)
	}
	if err := w.Discard([]string{"pipe", ".git/index"}); err != nil {
		t.Fatal(err)
	}
	w.looks(snapshot(t, w.Root))
}
