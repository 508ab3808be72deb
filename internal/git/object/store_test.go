package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStoreHoldsWhatGitHolds: every object, loose and packed in every way, with
// its type and under no other.
func TestStoreHoldsWhatGitHolds(t *testing.T) {
	packings := []struct {
		name string
		args []string
	}{
		{"loose", nil},
		{"packed", []string{"repack", "-q", "-a", "-d"}},
		{"deep", []string{"repack", "-q", "-a", "-d", "-f", "--depth=200", "--window=50"}},
		{"ref deltas", []string{"-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f"}},
		{"large offsets", []string{"-c", "pack.indexVersion=2", "repack", "-q", "-a", "-d", "-f"}},
	}
	for _, format := range []string{"sha1", "sha256"} {
		w := newWorld(t)
		w.repo("r", format)
		all := w.all("r")
		for _, p := range packings {
			t.Run(format+" "+p.name, func(t *testing.T) {
				if p.args != nil {
					w.git("r", p.args...)
				}
				if p.name == "large offsets" {
					w.reindex("r", "2,0x40")
				}
				for text, typ := range all {
					s := open(t, []string{w.objects("r")}, nil)
					id := mustID(t, text)
					if err := s.Has(id, typ); err != nil {
						t.Error(err)
					}
					other := Tree
					if typ == Tree {
						other = Commit
					}
					if err := s.Has(id, other); !errors.Is(err, ErrMissing) {
						t.Errorf("%s %s passes for a %s: %v", typ, text, other, err)
					}
					id.raw[3] ^= 1
					if err := s.Has(id, typ); !errors.Is(err, ErrMissing) {
						t.Errorf("%s: %v", id, err)
					}
				}
			})
		}
	}
}

// reindex writes the index of the one pack anew, in a version of its own.
func (w *world) reindex(rel, version string) {
	w.t.Helper()
	packs, err := filepath.Glob(w.objects(rel) + "/pack/*.pack")
	if err != nil || len(packs) != 1 {
		w.t.Fatal(packs, err)
	}
	idx := strings.TrimSuffix(packs[0], "pack") + "idx"
	if err := os.Remove(idx); err != nil {
		w.t.Fatal(err)
	}
	w.git(rel, "index-pack", "--index-version="+version, "-o", idx, packs[0])
}

func TestEmptyTree(t *testing.T) {
	s := open(t, nil, nil)
	for _, id := range []string{"4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"} {
		if err := s.Has(mustID(t, id), Tree); err != nil {
			t.Error(err)
		}
		if err := s.Has(mustID(t, id), Commit); !errors.Is(err, ErrMissing) {
			t.Errorf("as a commit: %v", err)
		}
	}
}

// TestStoreBelievesNoName: whatever is planted under the name of an object of
// another repository, it is not held.
func TestStoreBelievesNoName(t *testing.T) {
	w := newWorld(t)
	w.repo("mine", "sha1")
	w.repo("other", "sha1")
	w.write("other/new", "secret")
	w.git("other", "add", ".")
	w.git("other", "commit", "-q", "-m", "theirs")
	head := w.git("other", "rev-parse", "HEAD")
	id := mustID(t, head)
	loose := "objects/" + head[:2] + "/" + head[2:]
	own := w.git("mine", "rev-parse", "HEAD")
	content, err := os.ReadFile(w.path("mine/.git/objects/" + own[:2] + "/" + own[2:]))
	if err != nil {
		t.Fatal(err)
	}
	plants := map[string]func(){
		"nothing":        func() {},
		"an empty file":  func() { w.write("mine/.git/"+loose, "") },
		"another object": func() { w.write("mine/.git/"+loose, string(content)) },
		"a directory":    func() { w.write("mine/.git/"+loose+"/x", "") },
		"a FIFO":         func() { w.fifo("mine/.git/" + loose) },
		"a symlink":      func() { w.symlink("../../../../other/.git/"+loose, "mine/.git/"+loose) },
		"a symlinked fan": func() {
			w.symlink("../../../other/.git/objects/"+head[:2], "mine/.git/objects/"+head[:2])
		},
		"an alternate":     func() { w.write("mine/.git/objects/info/alternates", w.objects("other")+"\n") },
		"a near alternate": func() { w.write("mine/.git/objects/info/alternates", "../../../other/.git/objects\n") },
		"a forged index":   func() { w.forge("mine", own, head) },
		"symlinked packs": func() {
			w.git("other", "gc", "-q")
			w.symlink("../../../other/.git/objects/pack", "mine/.git/objects/pack")
		},
		"a symlinked store": func() { w.symlink("../../other/.git/objects", "mine/.git/objects") },
	}
	for _, name := range []string{"a forged index", "nothing", "an empty file", "another object", "a directory", "a FIFO", "a symlink", "a symlinked fan",
		"an alternate", "a near alternate", "symlinked packs", "a symlinked store"} {
		plants[name]()
		s, err := Open([]string{w.objects("mine")}, []string{w.path("mine")})
		if err != nil {
			if name != "a symlinked store" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err := s.Has(id, Commit); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
		if err := os.RemoveAll(w.path("mine/.git/objects/" + head[:2])); err != nil {
			t.Fatal(err)
		}
	}
}

// forge rewrites the index of mine so that its entry for own is called head.
func (w *world) forge(rel, own, head string) {
	w.t.Helper()
	w.git(rel, "repack", "-q", "-a", "-d")
	paths, err := filepath.Glob(w.objects(rel) + "/pack/*.idx")
	if err != nil || len(paths) != 1 {
		w.t.Fatal(paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		w.t.Fatal(err)
	}
	from, to := mustID(w.t, own), mustID(w.t, head)
	at := bytes.Index(b, from.Bytes())
	if at < 0 {
		w.t.Fatal("not in the index")
	}
	// One bucket for all, so that only the search by name decides.
	n := binary.BigEndian.Uint32(b[fanOutEnd-4:])
	for i := range 256 {
		binary.BigEndian.PutUint32(b[fanOut+4*i:], n)
	}
	for i := range int(n) {
		copy(b[fanOutEnd+20*i:], to.Bytes())
	}
	for i := range int(to.raw[0]) {
		binary.BigEndian.PutUint32(b[fanOut+4*i:], 0)
	}
	if err := os.Chmod(paths[0], 0o644); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], b, 0o644); err != nil {
		w.t.Fatal(err)
	}
	x, err := openIndex(bytes.NewReader(b), int64(len(b)), 20)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, ok, err := x.find(to); !ok || err != nil {
		w.t.Fatalf("the forged index does not tell the forged name: %v", err)
	}
}

func (w *world) fifo(rel string) {
	w.t.Helper()
	w.write(rel, "")
	if err := os.Remove(w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
	if err := unix.Mkfifo(w.path(rel), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) symlink(target, rel string) {
	w.t.Helper()
	w.write(rel, "")
	if err := os.Remove(w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
}

// TestAlternatesInTheWorkspace: a store that lies in a workspace lends.
func TestAlternatesInTheWorkspace(t *testing.T) {
	w := newWorld(t)
	w.repo("ws/lender", "sha1")
	w.git("ws", "clone", "-q", "--shared", "lender", "borrower")
	w.git("ws", "clone", "-q", "--shared", "borrower", "second")
	id := mustID(t, w.git("ws/lender", "rev-parse", "HEAD"))
	for _, workspaces := range [][]string{{w.path("ws")}, {w.path("other"), w.path("ws/")}} {
		if err := open(t, []string{w.objects("ws/second")}, workspaces).Has(id, Commit); err != nil {
			t.Errorf("%q: %v", workspaces, err)
		}
	}
	for _, workspaces := range [][]string{nil, {w.path("ws/second")}, {w.path("w")}} {
		if err := open(t, []string{w.objects("ws/second")}, workspaces).Has(id, Commit); !errors.Is(err, ErrMissing) {
			t.Errorf("%q: %v", workspaces, err)
		}
	}
	// A loop ends, and so does a list that names itself.
	w.write("ws/lender/.git/objects/info/alternates", w.objects("ws/second")+"\n"+strings.Repeat(w.objects("ws/lender")+"\n", 500))
	if err := open(t, []string{w.objects("ws/second")}, []string{w.path("ws")}).Has(id, Commit); err != nil {
		t.Error(err)
	}
}

func TestNoStoreYet(t *testing.T) {
	w := newWorld(t)
	s := open(t, []string{w.objects("gone"), w.path("gone/objects")}, nil)
	if err := s.Has(mustID(t, strings.Repeat("1", 40)), Commit); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// TestBudget: a pack that inflates without end is put down.
func TestBudget(t *testing.T) {
	w := newWorld(t)
	w.git(".", "init", "-q", "r")
	blob, err := w.try("r", strings.Repeat("\x00", maxObject+1), "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(err)
	}
	for _, packed := range []bool{false, true} {
		if packed {
			w.try("r", blob+"\n", "pack-objects", "-q", ".git/objects/pack/pack")
			w.git("r", "prune-packed")
		}
		s := open(t, []string{w.objects("r")}, nil)
		if err := s.Has(mustID(t, blob), Blob); !errors.Is(err, ErrMissing) {
			t.Errorf("packed %v: %v", packed, err)
		}
	}
	s := open(t, []string{w.objects("r")}, nil)
	s.budget = 1
	if err := s.Has(mustID(t, strings.Repeat("1", 40)), Commit); !errors.Is(err, ErrMissing) || !errors.Is(err, errBudget) {
		t.Error(err)
	}
}
