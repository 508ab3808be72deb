package object_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"ringfence.dev/ringfence/internal/git/object"
)

// FuzzRead gives every input the right checksum, or nearly all of them would end
// there. What comes out has the name of its bytes, and no more comes out than the
// limits let through.
func FuzzRead(f *testing.F) {
	tree := part{kind: 2, data: someTree}
	base := object.Sum(object.Tree, []byte(someTree))
	for _, b := range [][]byte{
		build(), build(tree),
		build(part{kind: 3, data: "blob"}, tree, part{kind: 7, ref: base, data: insert(someTree, "x")}),
		build(tree, part{kind: 6, back: int64(len(tree.bytes())), data: string([]byte{byte(len(someTree)), 5, 0x90, 5})}),
		build(part{kind: 7, ref: base, data: insert(someTree, "y")}, tree),
		build(part{kind: 7, ref: object.Sum(object.Blob, nil), data: "?"}),
	} {
		f.Add(b[:len(b)-20])
	}
	lim := object.PackLimits{Objects: 100, Object: 1 << 10, Memory: 4 << 10, Work: 64 << 10}
	f.Fuzz(func(t *testing.T, body []byte) {
		b, visited, work := seal(body), 0, int64(0)
		visit := func(id object.ID, kind object.Type, data []byte) error {
			if object.Sum(kind, data) != id {
				t.Fatalf("%v %v has another name", kind, id)
			}
			if kind == object.Blob || int64(len(data)) > lim.Object {
				t.Fatalf("%v of %d bytes came out", kind, len(data))
			}
			visited++
			work += int64(len(data))
			return nil
		}
		p, err := object.ReadPack(context.Background(), bytes.NewReader(b), int64(len(b)), lim, visit)
		if err != nil {
			if !errors.Is(err, object.ErrFormat) {
				t.Fatalf("error of no kind: %v", err)
			}
			return
		}
		if err := p.Add(object.Tree, []byte(someTree)); err != nil && !errors.Is(err, object.ErrFormat) {
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
		if h, err := object.ParseCommit(in); err == nil {
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
		if err := object.EachEntry(in, func(e object.Entry) {
			again = append(append(append(again, e.Mode+" "+e.Name...), 0), e.ID.Bytes()...)
			names[e.Name] = true
		}); err == nil && !bytes.Equal(in, again) {
			t.Fatalf("%q read as %q", in, again)
		}
		_, _, _ = object.ParseTag(in)
	})
}
