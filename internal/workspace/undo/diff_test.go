package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// nodes describes a tree with the words of a change.
func nodes(t testing.TB, tree string) map[string]change.Node {
	t.Helper()
	all := map[string]change.Node{}
	for rel, says := range snapshot(t, tree) {
		var bits uint32
		fmt.Sscanf(says, "%o", &bits)
		n := change.Node{Mode: bits & 0o7777}
		switch bits &^ 0o7777 {
		case 0o100000:
			data, err := os.ReadFile(filepath.Join(tree, rel))
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256(data)
			n.Type, n.Size, n.Hash = change.File, int64(len(data)), hex.EncodeToString(sum[:])
		case 0o120000:
			n.Type, n.Link = change.Symlink, says[len("120777 "):]
		default:
			n.Type = change.Directory
		}
		all[rel] = n
	}
	return all
}

// diff checks that changes are the whole difference and nothing else.
func diff(before, after map[string]change.Node, all []change.Change) string {
	got := map[string]change.Node{}
	for path, n := range before {
		got[path] = n
	}
	for _, c := range all {
		if c.Path == "." {
			c.Path = ""
		}
		was, key := before[c.Path], c.Path
		if c.From != "" {
			was, key = before[c.From], c.From
			if _, ok := after[c.From]; ok {
				return fmt.Sprintf("%+v: the old name is still there", c)
			}
		}
		if c.Old == nil && was != (change.Node{}) || c.Old != nil && *c.Old != was {
			return fmt.Sprintf("%+v: it was %+v", c, was)
		}
		if c.From == "" && c.Old != nil && c.New != nil && *c.Old == *c.New {
			return fmt.Sprintf("%+v: nothing changed", c)
		}
		delete(got, key)
	}
	for _, c := range all {
		if c.New != nil {
			got[c.Path] = *c.New
		}
	}
	if n, ok := got["."]; ok {
		delete(got, ".")
		got[""] = n
	}
	return cmp.Diff(after, got)
}

// TestChangesRandom: the changes are the difference between before and after, and
// every file of before can be read as it was.
func TestChangesRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newKeeper(fatal{t, rt}, rapid.IntRange(1, 2).Draw(rt, "trees"), roomy)
		k.log = rt.Log
		k.readable = true
		drawTree(rt, k)
		var before []map[string]change.Node
		was := k.snapshots()
		for _, tree := range k.trees {
			before = append(before, nodes(k.t, tree))
		}
		for range rapid.IntRange(0, 25).Draw(rt, "steps") {
			k.step(rt)
		}
		l := k.open()
		for i, tree := range k.trees {
			all, err := l.Changes(i)
			k.check(err)
			if d := diff(before[i], nodes(k.t, tree), all); d != "" {
				rt.Fatalf("tree %d: %s", i, d)
			}
			k.readOld(l, i, was[i])
		}
		k.close()
	})
}

// readOld reads every file of before.
func (k *keeper) readOld(l *Log, tree int, was map[string]string) {
	k.t.Helper()
	for rel, says := range was {
		if !strings.HasPrefix(says, "100") {
			continue
		}
		f, err := l.OpenOld(tree, rel)
		k.check(err)
		data, err := io.ReadAll(f)
		f.Close()
		if err != nil || !strings.HasSuffix(says, fmt.Sprintf("%q", data)) {
			k.t.Fatalf("%s was %q, %v, want %s", rel, data, err, says)
		}
	}
	for rel := range snapshot(k.t, k.trees[tree]) {
		if _, ok := was[rel]; ok {
			continue
		}
		if f, err := l.OpenOld(tree, rel); !errors.Is(err, fs.ErrNotExist) {
			k.t.Fatalf("%s was not there: %v, %v", rel, f, err)
		}
	}
}

// TestChanges: what a person sees of typical sessions.
func TestChanges(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	for name, c := range map[string]struct {
		do   func(k *keeper)
		want string
	}{
		"nothing left":   {func(k *keeper) { k.write(at("t"), "x"); k.remove(at("t")) }, ""},
		"write":          {func(k *keeper) { k.write(at("f"), "new") }, "changed f\n"},
		"write the same": {func(k *keeper) { k.write(at("f"), "f") }, ""},
		"delete":         {func(k *keeper) { k.remove(at("f")) }, "deleted f\n"},
		"mode":           {func(k *keeper) { k.chmod(at("f"), 0o755) }, "mode f\n"},
		"root":           {func(k *keeper) { k.chmod(at(""), 0o700) }, "mode .\n"},
		"add": {func(k *keeper) { k.mkdir(at("n")); k.write(at("n/x"), "1"); k.write(at("n/y"), "2") },
			"added n\nadded n/x\nadded n/y\n"},
		"rename": {func(k *keeper) { k.rename(at("f"), at("g")) }, "renamed g from f\n"},
		"rename and write": {func(k *keeper) { k.rename(at("f"), at("g")); k.write(at("g"), "new") },
			"renamed g from f\n"},
		"there and back": {func(k *keeper) { k.rename(at("f"), at("g")); k.rename(at("g"), at("f")) }, ""},
		"a directory": {func(k *keeper) { k.rename(at("d"), at("e")); k.remove(at("e/x")) },
			"deleted d/x\nrenamed e from d\nrenamed e/y from d/y\n"},
		"replaced atomically":     {func(k *keeper) { k.write(at("f~"), "new"); k.rename(at("f~"), at("f")) }, "changed f\n"},
		"an old one takes a name": {func(k *keeper) { k.rename(at("d/x"), at("f")) }, "deleted d/x\nchanged f\n"},
		"deleted and made again": {func(k *keeper) {
			k.check(k.removeAll(at("d")))
			k.mkdir(at("d"))
			k.write(at("d/x"), "d/x")
		}, "deleted d/y\n"},
		"file to directory": {func(k *keeper) { k.remove(at("f")); k.mkdir(at("f")) }, "changed f\n"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, 1, roomy)
			k.plant(0, map[string]string{"f": "f", "d/x": "d/x", "d/y": "d/y"})
			c.do(k)
			all, err := k.open().Changes(0)
			k.check(err)
			var got strings.Builder
			for _, x := range all {
				fmt.Fprint(&got, x.Kind(), " ", x.Path)
				if x.From != "" {
					fmt.Fprint(&got, " from ", x.From)
				}
				fmt.Fprintln(&got)
			}
			if d := cmp.Diff(c.want, got.String()); d != "" {
				t.Error(d)
			}
			k.close()
		})
	}
}
