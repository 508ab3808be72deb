package pack_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"ringfence.dev/ringfence/internal/git/pack"
)

// FuzzRead gives every input the right checksum, or nearly all of them would end
// there. What comes out has the name of its bytes, and no more comes out than the
// limits let through.
func FuzzRead(f *testing.F) {
	tree := part{kind: 2, data: someTree}
	base := pack.Sum(pack.Tree, []byte(someTree))
	for _, b := range [][]byte{
		build(), build(tree),
		build(part{kind: 3, data: "blob"}, tree, part{kind: 7, ref: base, data: insert(someTree, "x")}),
		build(tree, part{kind: 6, back: int64(len(tree.bytes())), data: string([]byte{byte(len(someTree)), 5, 0x90, 5})}),
		build(part{kind: 7, ref: base, data: insert(someTree, "y")}, tree),
		build(part{kind: 7, ref: pack.ID{1}, data: "?"}),
	} {
		f.Add(b[:len(b)-20])
	}
	lim := pack.Limits{Objects: 100, Object: 1 << 10, Memory: 4 << 10, Work: 64 << 10}
	f.Fuzz(func(t *testing.T, body []byte) {
		b, visited, work := seal(body), 0, int64(0)
		visit := func(id pack.ID, kind pack.Kind, data []byte) error {
			if pack.Sum(kind, data) != id {
				t.Fatalf("%v %v has another name", kind, id)
			}
			if kind == pack.Blob || int64(len(data)) > lim.Object {
				t.Fatalf("%v of %d bytes came out", kind, len(data))
			}
			visited++
			work += int64(len(data))
			return nil
		}
		p, err := pack.Read(context.Background(), bytes.NewReader(b), int64(len(b)), lim, visit)
		if err != nil {
			if !errors.Is(err, pack.ErrFormat) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if err := p.Add(pack.Tree, []byte(someTree)); err != nil && !errors.Is(err, pack.ErrFormat) {
			t.Fatalf("error of no kind: %v", err)
		}
		if visited > p.Len() || work > lim.Work {
			t.Fatalf("%d of %d objects came out, %d bytes", visited, p.Len(), work)
		}
	})
}

// FuzzObjects: a commit that is understood has its names in its bytes, and a tree
// that is understood is made of the entries that come out, in order.
func FuzzObjects(f *testing.F) {
	for _, s := range []string{"", someTree, "tree " + hexA + "\nparent " + hexB + "\nauthor ", "object " + hexA + "\ntype commit\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if h, err := pack.ParseCommit(in); err == nil {
			again := "tree " + h.Tree.String() + "\n"
			for _, p := range h.Parents {
				again += "parent " + p.String() + "\n"
			}
			if !bytes.HasPrefix(in, []byte(again+"author ")) {
				t.Fatalf("%q read as %q", in, again)
			}
		}
		var again []byte
		names := map[string]bool{}
		if err := pack.EachEntry(in, func(e pack.Entry) {
			again = append(append(append(again, e.Mode+" "+e.Name...), 0), e.ID[:]...)
			names[e.Name] = true
		}); err == nil && !bytes.Equal(in, again) {
			t.Fatalf("%q read as %q", in, again)
		}
		_, _, _ = pack.ParseTag(in)
	})
}
