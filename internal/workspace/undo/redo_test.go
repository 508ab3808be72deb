package undo

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// several are the files of eventful that have more than one name; see the package.
var several = []string{"one", "two", "alias", "hard", "hard2"}

// undoInto undoes everything, recorded in a store of its own.
func (k *keeper) undoInto(dir string, fail func(string)) (dead bool) {
	k.t.Helper()
	l := k.open()
	defer l.Close()
	store, err := Create(dir, k.trees, roomy)
	k.check(err)
	k.t.Cleanup(store.release)
	l.Record, l.fail = store, fail
	defer func() {
		if r := recover(); r != nil && r != errKilled {
			panic(r)
		} else if r != nil {
			dead = true
		}
	}()
	for tree := range k.trees {
		results, err := l.Restore(tree, nil, false)
		k.check(err)
		k.fine(results)
	}
	k.check(store.Close())
	return false
}

func (k *keeper) fine(results []Result) {
	k.t.Helper()
	for _, r := range results {
		if (r.Outcome == Conflict || r.Outcome == NotKept) && !slices.Contains(several, r.Path) {
			k.t.Fatalf("%+v", r)
		}
	}
}

func (k *keeper) redo(dir string) {
	k.t.Helper()
	l, err := Open(dir)
	k.check(err)
	defer l.Close()
	if l.End().IsZero() {
		l.EndedAt(time.Now().Add(time.Hour)) // it was killed, and nobody else was there
	}
	for tree := range k.trees {
		results, err := l.Restore(tree, nil, false)
		k.check(err)
		k.fine(results)
	}
}

// TestRedo: what undo took away can be brought back, whatever it was. An undo that was
// killed in between is finished by the next one.
func TestRedo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newKeeper(fatal{t, rt}, rapid.IntRange(1, 2).Draw(rt, "trees"), roomy)
		k.log, k.readable = rt.Log, true
		drawTree(rt, k)
		before := k.snapshots()
		for range rapid.IntRange(0, 20).Draw(rt, "steps") {
			k.step(rt)
		}
		k.close()
		after := k.snapshots()
		n := rapid.IntRange(-1, 60).Draw(rt, "writes")
		stores := []string{filepath.Join(filepath.Dir(k.dir), "one"), filepath.Join(filepath.Dir(k.dir), "two")}
		killed := k.undoInto(stores[0], func(string) {
			if n--; n == 0 {
				panic(errKilled)
			}
		})
		if killed {
			k.undoInto(stores[1], nil)
		}
		k.same(before)
		if killed {
			return // what was moved into each other by two runs is said, not always brought back
		}
		k.redo(stores[0])
		k.same(after)
	})
}

// TestKilledRecorded: an undo that is written down may be killed before every one of its
// writes, and the next one finishes. What a whole one took away comes back.
func TestKilledRecorded(t *testing.T) {
	for n, dead := 1, true; dead; n++ {
		k := eventful(t)
		before := k.snapshots()
		k.happen()
		after := k.snapshots()
		left := n
		one, two := filepath.Join(filepath.Dir(k.dir), "one"), filepath.Join(filepath.Dir(k.dir), "two")
		dead = k.undoInto(one, func(string) {
			if left--; left == 0 {
				panic(errKilled)
			}
		})
		if dead {
			l, err := Open(one)
			k.check(err)
			k.check(l.Settle())
			l.Close()
			k.undoInto(two, nil)
		}
		k.same(before)
		if dead {
			continue // what was moved into each other by two runs is said, not always brought back
		}
		k.redo(one)
		now := k.snapshots()
		for _, name := range several {
			delete(after[0], name)
			delete(now[0], name)
		}
		if diff := cmp.Diff(after, now); diff != "" {
			t.Fatalf("killed before write %d, not brought back: %s", n, diff)
		}
	}
}
