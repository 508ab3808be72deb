package parcel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// A layer is sent whole: one that has what an operation covers is not sent at all.
func TestLayerWithCovered(t *testing.T) {
	for _, name := range []string{"masked", "maskdir/in", "filed", "mounted/deep/in"} {
		p, _ := planned(t)
		put(t, filepath.Join(string(p.Ops[1].Upper), name), "SECRET-10", 0o600)
		if _, err := Pack(context.Background(), p, key, nil); err == nil || !strings.Contains(err.Error(), "is covered, and lies in the layer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of what changed after it was listed no byte leaves, small or large, in its place or with
// its whole directory.
func TestNothingOfAChangeLeaves(t *testing.T) {
	for _, size := range []int{40, inMemory + 40} {
		for _, whole := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "w")
			put(t, filepath.Join(dir, "conf"), strings.Repeat("x", size), 0o600)
			p := &plan.Plan{Ops: []plan.Op{{Do: plan.DoLayer, Dst: "/w", Src: plan.Raw(dir), Upper: plan.Raw(t.TempDir())}}}
			box, err := Pack(context.Background(), p, key, nil)
			if err != nil {
				t.Fatal(err)
			}
			if whole {
				if err := os.Rename(dir, dir+".old"); err != nil {
					t.Fatal(err)
				}
			}
			put(t, filepath.Join(dir, "conf"), strings.Repeat("S", size), 0o600)
			var left bytes.Buffer
			if _, err := box.Send(&left, []byte{1}); err == nil || left.Len() > 0 {
				t.Errorf("%d bytes, directory %v: %d left, %v", size, whole, left.Len(), err)
			}
		}
	}
}

// Of what is covered only a name goes: no target of a link, no mode and no time.
func TestOnlyTheName(t *testing.T) {
	p, root := planned(t)
	if err := errors.Join(os.Remove(filepath.Join(root, "masked")), os.Symlink("SECRET-TARGET", filepath.Join(root, "masked")), os.Chmod(filepath.Join(root, "filed"), 0o751)); err != nil {
		t.Fatal(err)
	}
	box, err := Pack(context.Background(), p, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range box.Trees[0] {
		switch string(e.Path) {
		case "masked", "filed", "maskdir", "laid":
			found++
			if len(e.Target) > 0 || e.Sec != 0 || e.Nsec != 0 || e.Mode != 0o600 && e.Mode != 0o700 || e.Kind == Link {
				t.Errorf("%s goes as %+v", e.Path, e)
			}
		}
	}
	if found != 4 {
		t.Errorf("%d of the names are there", found)
	}
}

// Names are bounded as well as files: a repository says how long they are.
func TestListIsBounded(t *testing.T) {
	w := &walk{Parcel: &Parcel{}, ctx: context.Background()}
	e, full := Entry{Kind: Link, Path: []byte("l"), Target: make([]byte, 4000)}, &Full{}
	var err error
	for err == nil && w.entries <= MaxEntries {
		err = w.add(e)
	}
	body, _ := json.Marshal(w.out[:1000])
	if !errors.As(err, &full) || w.entries > MaxEntries/5 || len(body) > w.listed/w.entries*1000*11/10 {
		t.Errorf("%d entries, %v, %d bytes of 1000", w.entries, err, len(body))
	}
}

// Every file that goes with its content is judged, and one that is refused stops it all.
func TestJudged(t *testing.T) {
	p, root := planned(t)
	asked := map[string][]byte{}
	judge := func(at string, begins []byte, link bool) error { asked[at] = bytes.Clone(begins); return nil }
	box, err := Pack(context.Background(), p, key, judge)
	if err != nil || asked[filepath.Join(root, "sub/deep")] == nil || asked[filepath.Join(root, "masked")] != nil {
		t.Error(asked, err)
	}
	for _, e := range box.Trees[0] { // what is judged is what has the digest
		if sum := sha256.Sum256(asked[filepath.Join(root, string(e.Path))]); e.Kind == File && e.Size > 0 && !bytes.Equal(sum[:], e.Sum) {
			t.Errorf("%s was judged by other bytes", e.Path)
		}
		if e.Kind == Link && !bytes.Equal(asked[filepath.Join(root, string(e.Path))], e.Target) {
			t.Errorf("%s was not judged", e.Path)
		}
	}
	for _, links := range []bool{false, true} {
		if _, err := Pack(context.Background(), p, key, func(_ string, _ []byte, link bool) error {
			if link == links {
				return errors.New("no")
			}
			return nil
		}); err == nil {
			t.Error("sent all the same")
		}
	}
}
