package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var errKilled = errors.New("killed")

// killed runs a restore that ends before its n-th write, as if by a signal.
func (k *keeper) killed(tree, n int) (dead bool) {
	k.t.Helper()
	l := k.open()
	defer l.Close()
	l.fail = func(string) {
		if n--; n < 0 {
			panic(errKilled)
		}
	}
	defer func() {
		if r := recover(); r != nil && r != errKilled {
			panic(r)
		} else if r != nil {
			dead = true
		}
	}()
	_, err := l.Restore(tree, nil, false)
	k.check(err)
	return false
}

// eventful is a session in which everything happens.
func eventful(t testing.TB) *keeper {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{
		"src/main.go": "package main", "src/deep/x": "x", "src/deep/y": "y", "link": "-> src", "empty/": "",
		"one": "1", "two": "2", "swap/a/in": "a", "swap/b/in": "b", "was-file": "f", "was-dir/in": "d",
		"mode": "m", "nest/inner/f": "f", "hard": "both", "gone/a/b": "c",
	})
	k.check(os.Link(k.path(place{0, "hard"}), k.path(place{0, "hard2"})))
	return k
}

func (k *keeper) happen() {
	k.t.Helper()
	at := func(rel string) place { return place{0, rel} }
	for _, err := range []error{
		k.write(at("src/main.go"), "package evil"), k.rename(at("src"), at("lib")), k.remove(at("lib/deep/x")),
		k.mkdir(at("src")), k.write(at("src/main.go"), "new"), k.remove(at("link")), k.write(at("link"), "file"),
		k.remove(at("empty")), k.symlink(at("empty"), "/etc"),
		k.rename(at("one"), at("u")), k.rename(at("two"), at("one")), k.rename(at("u"), at("two")),
		k.rename(at("swap/a"), at("t")), k.rename(at("swap/b"), at("swap/a")), k.rename(at("t"), at("swap/b")),
		k.remove(at("was-file")), k.mkdir(at("was-file")), k.write(at("was-file/in"), "x"),
		k.chmod(at("mode"), 0o4755), k.chmod(at("swap"), 0o700), k.rename(at("nest/inner"), at("tmp")),
		k.rename(at("nest"), at("tmp/x")), k.rename(at("tmp"), at("nest")), k.write(at("hard"), "changed"),
		k.link(at("two"), at("alias")), k.write(at("alias"), "by alias"), k.write(at("new"), "n"),
		k.link(at("new"), at("new2")), k.rename(at("mode"), at("mood")),
	} {
		k.check(err)
	}
	k.check(k.removeAll(at("was-dir")))
	k.check(k.write(at("was-dir"), "file"))
	k.check(k.removeAll(at("gone")))
	k.check(k.mkdir(at("gone")))
	k.check(k.write(at("gone/a"), "file"))
	k.close()
}

// TestKilled: a restore may be killed before every one of its writes, and the one
// after it as well. The next one finishes, and leaves no temporary name.
func TestKilled(t *testing.T) {
	for n := 0; ; n++ {
		k := eventful(t)
		before := k.snapshots()
		k.happen()
		dead := k.killed(0, n)
		k.killed(0, n/2)
		for _, r := range k.restore(0, nil, false) {
			if r.Outcome == Conflict || r.Outcome == NotKept {
				t.Fatalf("killed before write %d: %+v", n, r)
			}
		}
		k.same(before)
		if !dead {
			t.Logf("%d writes", n)
			return
		}
	}
}

// TestKilledFiles: whenever a restore is killed, a file is either as before the
// session or as the session left it. The one with two names is written in place.
func TestKilledFiles(t *testing.T) {
	for n, dead := 0, true; dead; n++ {
		k := newKeeper(t, 1, roomy)
		k.plant(0, map[string]string{"a": "old a", "d/b": "old b"})
		k.check(k.write(place{0, "a"}, "new a"))
		k.check(k.write(place{0, "d/b"}, "new b"))
		k.close()
		dead = k.killed(0, n)
		for rel, b := range map[string]string{"a": "a", "d/b": "b"} {
			data, err := os.ReadFile(filepath.Join(k.trees[0], rel))
			if err != nil || string(data) != "old "+b && string(data) != "new "+b {
				t.Fatalf("killed before write %d: %s is %q, %v", n, rel, data, err)
			}
		}
	}
}

// TestKilledRandom does the same with whatever a session does.
func TestKilledRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newKeeper(fatal{t, rt}, rapid.IntRange(1, 2).Draw(rt, "trees"), roomy)
		k.log = rt.Log
		drawTree(rt, k)
		before := k.snapshots()
		for range rapid.IntRange(0, 20).Draw(rt, "steps") {
			k.step(rt)
		}
		k.close()
		for range 3 {
			for tree := range k.trees {
				k.killed(tree, rapid.IntRange(0, 60).Draw(rt, "writes"))
			}
		}
		for tree := range k.trees {
			for _, r := range k.restore(tree, nil, false) {
				if r.Outcome == Conflict || r.Outcome == NotKept || strings.Contains(r.Path, tempPrefix) {
					rt.Fatal(fmt.Sprintf("tree %d: %+v", tree, r))
				}
			}
		}
		k.same(before)
	})
}
