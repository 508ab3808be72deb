package undo

import (
	"os"
	"testing"

	"pgregory.net/rapid"
)

var someNames = []string{"a", "b", "c", ".git"}

func drawPlace(rt *rapid.T, trees int) place {
	s := place{tree: rapid.IntRange(0, trees-1).Draw(rt, "tree")}
	for range rapid.IntRange(1, 3).Draw(rt, "depth") {
		s.rel = join(s.rel, rapid.SampledFrom(someNames).Draw(rt, "name"))
	}
	return s
}

// drawTree makes a random tree of before.
func drawTree(rt *rapid.T, k *keeper) {
	for range rapid.IntRange(0, 12).Draw(rt, "entries") {
		s := drawPlace(rt, len(k.trees))
		if dir, _ := split(s.rel); dir != "" {
			if !k.isDir(place{s.tree, dir}) {
				continue
			}
		}
		if k.exists(s) {
			continue
		}
		switch rapid.IntRange(0, 3).Draw(rt, "kind") {
		case 0:
			k.plant(s.tree, map[string]string{s.rel: "was " + s.rel})
		case 1:
			k.plant(s.tree, map[string]string{s.rel: "-> " + rapid.SampledFrom(someNames).Draw(rt, "says")})
		default:
			k.plant(s.tree, map[string]string{s.rel + "/": ""})
		}
	}
	if !k.readable {
		k.preLink(rt)
	}
}

// step does one thing that a session may do. That it fails is part of the game.
func (k *keeper) step(rt *rapid.T) {
	a, b := drawPlace(rt, len(k.trees)), drawPlace(rt, len(k.trees))
	modes := []uint32{0o600, 0o644, 0o755, 0o444, 0o1777, 0o500, 0}
	if k.readable {
		modes = []uint32{0o700, 0o755, 0o711}
	}
	ops := []func(){
		func() { k.write(a, rapid.SampledFrom([]string{"", "x", "longer than that"}).Draw(rt, "data")) },
		func() { k.mkdir(a) },
		func() { k.symlink(a, "somewhere") },
		func() { k.remove(a) },
		func() {
			if k.isDir(a) {
				k.removeAll(a)
			}
		},
		func() { k.rename(a, b) },
		func() { k.rename(a, b) },
		func() { k.link(a, b) },
		func() { k.chmod(a, rapid.SampledFrom(modes).Draw(rt, "mode")) },
	}
	if dir, _ := split(a.rel); dir != "" && !k.isDir(place{a.tree, dir}) {
		return
	}
	if dir, _ := split(b.rel); dir != "" && !k.isDir(place{b.tree, dir}) {
		return
	}
	ops[rapid.IntRange(0, len(ops)-1).Draw(rt, "op")]()
}

// TestRandom: whatever a session does, everything is as before after it is undone,
// and undoing it again changes nothing.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newKeeper(fatal{t, rt}, rapid.IntRange(1, 2).Draw(rt, "trees"), roomy)
		k.log = rt.Log
		drawTree(rt, k)
		before := k.snapshots()
		for range rapid.IntRange(0, 25).Draw(rt, "steps") {
			k.step(rt)
		}
		k.close()
		for tree := range k.trees {
			for _, r := range k.restore(tree, nil, false) {
				if r.Outcome == Conflict || r.Outcome == NotKept {
					rt.Fatalf("tree %d: %+v", tree, r)
				}
			}
		}
		k.same(before)
		for tree := range k.trees {
			for _, r := range k.restore(tree, nil, false) {
				if r.Outcome != Same {
					rt.Fatalf("again, tree %d: %+v", tree, r)
				}
			}
			if all, err := k.open().Changes(tree); err != nil || len(all) != 0 {
				rt.Fatalf("after undo: %+v, %v", all, err)
			}
		}
		k.same(before)
	})
}

// fatal lets a failure end one draw and not the whole test, and what a draw opens ends
// with it.
type fatal struct {
	testing.TB
	rt *rapid.T
}

func (f fatal) Fatal(args ...any)               { f.rt.Helper(); f.rt.Fatal(args...) }
func (f fatal) Fatalf(form string, args ...any) { f.rt.Helper(); f.rt.Fatalf(form, args...) }
func (f fatal) Cleanup(end func())              { f.rt.Cleanup(end) }

func (f fatal) TempDir() string {
	dir, err := os.MkdirTemp("", "undo-")
	if err != nil {
		f.Fatal(err)
	}
	f.rt.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
