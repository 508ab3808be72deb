package repo

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jjIndex encodes a list of workspaces as jj writes it.
func jjIndex(paths ...string) string {
	field := func(num byte, v []byte) []byte {
		return append(binary.AppendUvarint([]byte{num<<3 | 2}, uint64(len(v))), v...)
	}
	var b []byte
	for _, p := range paths {
		b = append(b, field(1, slices.Concat(field(1, []byte("name")), field(2, []byte(p))))...)
	}
	return string(b)
}

// jjWorld holds the colocated repository main and its further workspace ws.
func jjWorld(t *testing.T) *world {
	w := newWorld(t)
	w.repo("main")
	w.mkdir("main/.jj/repo/store")
	w.mkdir("main/.jj/repo/workspace_store")
	w.write("main/.jj/repo/store/git_target", "../../../.git")
	w.write("main/.jj/repo/workspace_store/index", jjIndex("../..", "../../../ws"))
	w.mkdir("ws/.jj")
	w.write("ws/.jj/repo", "../../main/.jj/repo")
	return w
}

func TestJJ(t *testing.T) {
	want := Repo{Kind: JJ, WorkTree: "ws", Main: "main", Extra: []string{"main/.jj/repo", "main/.git"}}
	for name, build := range map[string]func(w *world){
		"relative":         func(*world) {},
		"absolute":         func(w *world) { w.write("ws/.jj/repo", w.path("main/.jj/repo")) },
		"absolute claim":   func(w *world) { w.write("main/.jj/repo/workspace_store/index", jjIndex(w.path("ws"))) },
		"a number besides": func(w *world) { w.write("main/.jj/repo/workspace_store/index", "\x18\x07"+jjIndex(w.path("ws"))) },
	} {
		t.Run(name, func(t *testing.T) {
			w := jjWorld(t)
			build(w)
			if diff := cmp.Diff(*w.abs(want), *w.find("ws")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if main := w.find("main"); main.Kind != Plain || main.Extra != nil || main.Main != w.path("main") {
				t.Errorf("colocated main: %+v", main)
			}
		})
	}
	t.Run("internal store", func(t *testing.T) {
		w := jjWorld(t)
		w.bare("main/.jj/repo/store/git")
		w.write("main/.jj/repo/store/git_target", "git")
		if got := w.find("ws").Extra; !slices.Equal(got, []string{w.path("main/.jj/repo")}) {
			t.Errorf("grants %q", got)
		}
	})
	t.Run("worktree and workspace at once", func(t *testing.T) {
		w := jjWorld(t)
		w.git("main", "worktree", "add", "-q", "../ws2")
		w.mkdir("ws2/.jj")
		w.write("ws2/.jj/repo", "../../main/.jj/repo")
		w.write("main/.jj/repo/workspace_store/index", jjIndex("../../../ws2"))
		r := w.find("ws2")
		if r.Kind != Worktree || !slices.Equal(r.Extra, []string{w.path("main/.git"), w.path("main/.jj/repo")}) {
			t.Errorf("got %+v", r)
		}
	})
}

func TestHostileJJ(t *testing.T) {
	const index = "main/.jj/repo/workspace_store/index"
	for name, build := range map[string]func(w *world){
		"not claimed":          func(w *world) { w.write(index, jjIndex("../..")) },
		"claims another":       func(w *world) { w.write(index, jjIndex("../../../gone", w.home)) },
		"no index":             func(w *world) { os.Remove(w.path(index)) },
		"index is a symlink":   func(w *world) { w.rename(index, "i"); w.symlink(w.path("i"), index) },
		"index is cut":         func(w *world) { w.write(index, jjIndex("../../../ws")[:9]) },
		"index of fixed32":     func(w *world) { w.write(index, "\x0d\x01\x02\x03\x04"+jjIndex("../../../ws")) },
		"pointer to ssh":       func(w *world) { w.mkdir("home/.ssh"); w.write("ws/.jj/repo", w.home+"/.ssh") },
		"pointer to home":      func(w *world) { w.write("ws/.jj/repo", w.home) },
		"pointer to nothing":   func(w *world) { w.write("ws/.jj/repo", "../../gone/.jj/repo") },
		"pointer of two lines": func(w *world) { w.write("ws/.jj/repo", "../../main/.jj/repo\n\n") },
		"pointer with hop":     func(w *world) { w.symlink("../main", "ws/hop"); w.write("ws/.jj/repo", "../hop/../main/.jj/repo") },
		"home inside":          func(w *world) { w.home = w.mkdir("main/.jj/repo/home") },
		"git of another":       func(w *world) { w.repo("other"); w.write("main/.jj/repo/store/git_target", w.path("other/.git")) },
		"git is ssh":           func(w *world) { w.mkdir("home/.ssh"); w.write("main/.jj/repo/store/git_target", w.home+"/.ssh") },
		"git is no git":        func(w *world) { os.Remove(w.path("main/.git/HEAD")) },
		"git borrows another":  func(w *world) { w.write("main/.git/commondir", "/etc") },
		"store elsewhere named": func(w *world) {
			w.rename("main/.jj/repo", "main/.jj/else")
			w.write("ws/.jj/repo", "../../main/.jj/else")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := jjWorld(t)
			build(w)
			w.refused("ws")
		})
	}
}

func FuzzJJIndex(f *testing.F) {
	f.Add([]byte(jjIndex("../..", "/a")))
	f.Add([]byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("\x08\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		paths, err := parseJJIndex(b)
		if err != nil && paths != nil {
			t.Errorf("both %q and %v", paths, err)
		}
		for _, p := range paths {
			if _, err := parsePath([]byte(p)); err != nil {
				t.Errorf("%q: %v", p, err)
			}
		}
	})
}
