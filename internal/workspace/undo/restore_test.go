package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestIncident: rm -rf of three directories, with untracked and ignored files,
// empty directories, links, modes and times. Nothing is lost.
func TestIncident(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".gitignore": "*.log\n", "tests/a_test.go": "package a",
		"tests/out.log": "ignored", "tests/data/empty/": "", "tests/link": "-> ../patches", "tests/none": "-> nowhere",
		"patches/0001.patch": "untracked", "patches/script": "#!/bin/sh", "plan/week/notes.md": strings.Repeat("plan\n", 10_000),
		"plan/locked": "secret", "plan/zero": "",
	})
	for rel, mode := range map[string]uint32{"patches/script": 0o755, "plan/locked": 0, "tests/data": 0o2750, "plan/week": 0o711} {
		k.check(unix.Chmod(k.path(place{0, rel}), mode))
	}
	before := k.snapshots()
	for _, dir := range []string{"tests", "patches", "plan"} {
		k.check(k.removeAll(place{0, dir}))
	}
	k.close()
	all, err := k.open().Changes(0)
	if err != nil || len(all) != 15 {
		t.Fatalf("%d changes, %v: %+v", len(all), err, all)
	}
	for _, r := range k.restore(0, nil, false) {
		if r.Outcome != Restored {
			t.Errorf("%+v", r)
		}
	}
	k.same(before)
}

// TestLater: what a person changed after the session is left alone.
func TestLater(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"edited": "1", "undone": "2", "mode": "3", "moved": "4", "d/x": "5", "file": "6"})
	before := k.snapshots()
	for _, err := range []error{
		k.write(at("edited"), "session"), k.write(at("undone"), "session"), k.chmod(at("mode"), 0o600), k.rename(at("moved"), at("there")),
		k.write(at("new"), "session"), k.mkdir(at("n")), k.write(at("n/kept"), "session"), k.write(at("n/gone"), "session"),
		k.remove(at("d/x")), k.remove(at("file")), k.mkdir(at("file")), k.write(at("file/in"), "session"),
	} {
		k.check(err)
	}
	k.close()
	for _, rel := range []string{"edited", "new", "n/kept", "d/x", "moved", "file/mine"} {
		k.check(os.WriteFile(k.path(at(rel)), []byte("person"), 0o644))
	}
	got := outcomes(k.restore(0, nil, false))
	want := "d/x: conflict\nedited: conflict\nfile: conflict\nfile/in: removed\nfile/mine: conflict\nmode: restored\n" +
		"moved: conflict\nn: conflict\nn/gone: removed\nn/kept: conflict\nnew: conflict\nundone: restored\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for rel, content := range map[string]string{"edited": "person", "new": "person", "n/kept": "person", "d/x": "person",
		"moved": "person", "there": "4", "file/mine": "person", "undone": "2"} {
		if data, err := os.ReadFile(k.path(at(rel))); err != nil || string(data) != content {
			t.Errorf("%s: %q, %v, want %q", rel, data, err, content)
		}
	}
	k.restore(0, nil, true)
	k.same(before)
}

// TestMovedLater: a file does not change when somebody moves the directory that it is in.
// What stands where the session left nothing, or another directory, is somebody's all the
// same, with all that is in it.
func TestMovedLater(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"d/c": "1", "f": "2", "g/x": "3"})
	for _, err := range []error{
		k.write(at("d/new"), "session"), k.mkdir(at("d/sub")), k.rename(at("d"), at("e")), // moved back
		k.remove(at("f")), k.mkdir(at("m")), k.write(at("m/in"), "session"), // put where a file was
		k.mkdir(at("n")), k.write(at("n/1"), "session"), k.mkdir(at("o")), k.write(at("o/2"), "session"), // changed places
		k.write(at("g/own"), "session"), k.rename(at("g"), at("h")), // left alone
	} {
		k.check(err)
	}
	k.close()
	for _, m := range [][2]string{{"e", "d"}, {"m", "f"}, {"n", "t"}, {"o", "n"}, {"t", "o"}} {
		k.check(os.Rename(k.path(at(m[0])), k.path(at(m[1]))))
	}
	got := outcomes(k.restore(0, nil, false))
	want := "d/new: conflict\nd/sub: conflict\nf: conflict\ng: restored\ng/own: removed\nn: conflict\nn/2: conflict\no: conflict\no/1: conflict\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for rel, content := range map[string]string{"d/c": "1", "d/new": "session", "f/in": "session", "n/2": "session", "o/1": "session", "g/x": "3"} {
		if data, err := os.ReadFile(k.path(at(rel))); err != nil || string(data) != content {
			t.Errorf("%s: %q, %v, want %q", rel, data, err, content)
		}
	}
	if _, err := os.Lstat(k.path(at("d/sub"))); err != nil {
		t.Error(err)
	}
}

// TestEndUnknown: a store that was never closed does not say what changed since.
func TestEndUnknown(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"f": "old"})
	before := k.snapshots()
	k.check(k.write(place{0, "f"}, "new"))
	k.check(k.write(place{0, "g"}, "new"))
	if got := outcomes(k.restore(0, nil, false)); got != "f: conflict\ng: conflict\n" {
		t.Error(got)
	}
	l := k.open()
	if !l.End().IsZero() {
		t.Error(l.End())
	}
	l.EndedAt(time.Now().Add(time.Hour))
	results, err := l.Restore(0, nil, false)
	k.check(err)
	if got := outcomes(results); got != "f: restored\ng: removed\n" {
		t.Error(got)
	}
	k.same(before)
	k.close()
}

// TestPaths: only what is asked for comes back, by its old or its new name, with
// the directories that it needs.
func TestPaths(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	for path, want := range map[string]string{
		"d":          "d: restored\nd/e: restored\nd/e/x: restored\nd/y: restored\n",
		"d/e/x":      "d: restored\nd/e: restored\nd/e/x: restored\n",
		"f":          "f: restored\n",
		"g":          "f: restored\n",
		"n":          "n: removed\n",
		"n/b":        "n/b: removed\n",
		"other":      "other: same\n",
		"src/a":      "src: restored\nsrc/a: restored\n",
		"lib":        "src: restored\nsrc/a: restored\n",
		"w":          "v: removed\nw: restored\n",
		"v":          "v: removed\nw: restored\n",
		"unchanged":  "unchanged: same\n",
		"n/none/too": "n/none/too: same\n",
	} {
		t.Run(path, func(t *testing.T) {
			k := newKeeper(t, 1, roomy)
			k.plant(0, map[string]string{"d/e/x": "x", "d/y": "y", "f": "f", "src/a": "a", "src/b": "b", "w": "w", "unchanged": "u"})
			k.check(k.removeAll(at("d")))
			for _, err := range []error{k.rename(at("f"), at("g")), k.mkdir(at("n")), k.write(at("n/a"), ""), k.write(at("n/b"), ""),
				k.rename(at("src"), at("lib")), k.remove(at("lib/a")), k.rename(at("w"), at("v")), k.write(at("v"), "new")} {
				k.check(err)
			}
			k.close()
			if d := cmp.Diff(want, outcomes(k.restore(0, []string{path}, false))); d != "" {
				t.Error(d)
			}
			if _, err := os.Lstat(k.path(at("n/a"))); (err == nil) != (path != "n") {
				t.Error("n/a:", err)
			}
		})
	}
	k := newKeeper(t, 1, roomy)
	for _, bad := range []string{"../x", "/etc", "a//b", "a/./b", "a\x00"} {
		if _, err := k.open().Restore(0, []string{bad}, true); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

// TestPlanted: between the session and the restore something put links where the
// tree had directories and files. Nothing outside is touched.
func TestPlanted(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	k := newKeeper(t, 1, roomy)
	outside := filepath.Join(filepath.Dir(k.dir), "outside")
	k.check(os.Mkdir(outside, 0o755))
	k.check(os.WriteFile(filepath.Join(outside, "x"), []byte("theirs"), 0o600))
	k.plant(0, map[string]string{"d/x": "x", "e/x": "x", "f": "f"})
	for _, err := range []error{k.write(at("d/x"), "new"), k.write(at("f"), "new"), k.mkdir(at("n")), k.write(at("n/x"), "new"),
		k.chmod(at("e"), 0o700), k.chmod(at("e/x"), 0o600)} {
		k.check(err)
	}
	k.close()
	for _, rel := range []string{"d", "e", "n"} {
		k.check(os.RemoveAll(k.path(at(rel))))
		k.check(os.Symlink(outside, k.path(at(rel))))
	}
	k.check(os.Remove(k.path(at("f"))))
	k.check(os.Symlink(filepath.Join(outside, "x"), k.path(at("f"))))
	want := snapshot(t, outside)
	for _, force := range []bool{false, true} {
		results, err := k.open().Restore(0, nil, force)
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, snapshot(t, outside)); d != "" {
			t.Fatalf("force %v: %v\n%s", force, results, d)
		}
		if all, err := k.open().Changes(0); err != nil || len(all) == 0 {
			t.Error(all, err)
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "x")); err != nil {
		t.Error(err)
	}
}

// TestNames: what a name says makes no difference.
func TestNames(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	names := []string{"-rf", "a\nb", "\x1b[2J", "\xff\xfe", " ", "~", "*", "\\", "\u202e", strings.Repeat("n", 255), ".ringfence-undo-1", "...", "log", "kept"}
	for _, name := range names {
		k.plant(0, map[string]string{name: name, "d/" + name + "/x": name})
	}
	before := k.snapshots()
	for _, name := range names {
		k.check(k.write(place{0, "new" + name[:1]}, ""))
		k.check(k.remove(place{0, name}))
		k.check(k.rename(place{0, "d/" + name}, place{0, name}))
		k.check(k.write(place{0, name + "/x"}, "new"))
	}
	k.close()
	k.restore(0, nil, false)
	k.same(before)
	entries, err := os.ReadDir(filepath.Join(k.dir, keptName))
	k.check(err)
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") != "" {
			t.Errorf("the store has a file %q", e.Name())
		}
	}
}

// TestLimits: what is too large is not kept, which is said, and the rest is.
func TestLimits(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	k := newKeeper(t, 1, Limits{File: 10, Total: 20})
	k.plant(0, map[string]string{"large": "12345678901", "a": "1234567890", "b": "123456789", "c": "12"})
	for _, err := range []error{k.write(at("large"), ""), k.write(at("a"), ""), k.remove(at("b")), k.write(at("c"), "")} {
		k.check(err)
	}
	k.close()
	l := k.open()
	want := []string{`"c": its 2 bytes are past the 20 that are kept of a session`,
		`"large": its 11 bytes are more than the 10 that are kept of a file`}
	if d := cmp.Diff(want, l.Lost(0)); d != "" {
		t.Error(d)
	}
	if f, err := l.OpenOld(0, "large"); err == nil || !strings.Contains(err.Error(), "not kept") {
		t.Error(f, err)
	}
	if got := outcomes(k.restore(0, nil, false)); got != "a: restored\nb: restored\nc: not kept\nlarge: not kept\n" {
		t.Error(got)
	}
}

// TestSecondName: a file is changed under a name that the session gave it, or
// after a removal that failed. What is kept stays what it was.
func TestSecondName(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	for name, do := range map[string]func(k *keeper) error{
		"linked": func(k *keeper) error {
			return errors.Join(k.link(at("f"), at("l")), k.remove(at("f")), k.write(at("l"), "new"))
		},
		"link moved": func(k *keeper) error {
			return errors.Join(k.mkdir(at("n")), k.link(at("f"), at("n/l")), k.rename(at("n"), at("m")), k.write(at("m/l"), "new"))
		},
		"removal failed": func(k *keeper) error {
			k.save(at("f"), Remove)
			return k.write(at("f"), "new")
		},
		"mode, removal failed": func(k *keeper) error {
			err := k.chmod(at("f"), 0o600)
			k.save(at("f"), Remove)
			return err
		},
		"removal failed, mode, linked": func(k *keeper) error {
			k.save(at("f"), Remove)
			return errors.Join(k.chmod(at("f"), 0o600), k.link(at("f"), at("l")))
		},
		"another linked to its name": func(k *keeper) error {
			return errors.Join(k.remove(at("f")), k.write(at("n"), "new"), k.link(at("n"), at("f")))
		},
		"removal failed, moved, linked": func(k *keeper) error {
			k.save(at("f"), Remove)
			return errors.Join(k.rename(at("f"), at("g")), k.link(at("g"), at("l")), k.write(at("l"), "new"))
		},
		"two before": func(k *keeper) error { return errors.Join(k.write(at("h1"), "new"), k.remove(at("h2"))) },
		"two before, one left": func(k *keeper) error {
			return errors.Join(k.write(at("h1"), "new"), k.remove(at("h1")), k.write(at("h2"), "newer"), k.remove(at("h2")))
		},
		"two before, one moved":   func(k *keeper) error { return errors.Join(k.rename(at("h1"), at("b")), k.write(at("b"), "new")) },
		"two before, one removed": func(k *keeper) error { return errors.Join(k.write(at("h1"), "new"), k.remove(at("h1"))) },
		"two before, one replaced": func(k *keeper) error {
			return errors.Join(k.write(at("h1"), "new"), k.write(at("t"), "t"), k.rename(at("t"), at("h1")))
		},
		"two before, mode, removed": func(k *keeper) error { return errors.Join(k.chmod(at("h1"), 0o600), k.remove(at("h1"))) },
		"two before, mode":          func(k *keeper) error { return errors.Join(k.chmod(at("h1"), 0o600), k.write(at("h2"), "new")) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, recorded := range []bool{false, true} {
				k := newKeeper(t, 1, roomy)
				k.plant(0, map[string]string{"f": "old", "h1": "both"})
				k.check(os.Link(k.path(at("h1")), k.path(at("h2"))))
				before := k.snapshots()
				k.check(do(k))
				k.close()
				if recorded {
					k.undoInto(k.dir+"-of-undo", nil)
				} else {
					k.fine(k.restore(0, nil, false))
				}
				k.same(before)
			}
		})
	}
}

// TestFailed: what did not happen changes nothing: the directory that could not
// be removed or replaced is still worth keeping.
func TestFailed(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"d/x": "x", "e/x": "x", "f": "f"})
	before := k.snapshots()
	if err := k.remove(at("d")); err == nil {
		t.Error("d is gone")
	}
	if err := k.rename(at("e"), at("d")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := k.rename(at("f"), at("d")); err == nil {
		t.Error("d is replaced")
	}
	k.check(k.removeAll(at("d")))
	k.check(k.remove(at("f")))
	k.check(k.removeAll(at("e")))
	k.close()
	k.restore(0, nil, false)
	k.same(before)
}

// TestOpenModes: an ordinary user gets back what the session took the permissions
// of, and setuid bits come back only with their owner.
func TestOpenModes(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"ro/x": "x", "ro/y/z": "z", "su": "su", "w": "w", "in/f": "f", "g": "g"})
	for rel, mode := range map[string]uint32{"ro/y": 0o555, "ro": 0o555, "su": 0o6755} {
		k.check(unix.Chmod(k.path(at(rel)), mode))
	}
	before := k.snapshots()
	for _, err := range []error{k.chmod(at("ro"), 0o755), k.chmod(at("ro/y"), 0o755), k.remove(at("ro/x")), k.rename(at("ro"), at("rw")),
		k.write(at("rw/n"), "n"), k.chmod(at("rw/y"), 0), k.mkdir(at("rw/m")), k.write(at("rw/m/f"), "f"), k.chmod(at("rw/m"), 0),
		k.chmod(at("rw"), 0), k.write(at("su"), "evil"), k.chmod(at("w"), 0o200), k.write(at("w"), "x"),
		k.mkdir(at("shut")), k.rename(at("in"), at("shut/in")), k.rename(at("g"), at("shut/in/g")), k.chmod(at("shut/in"), 0),
		k.chmod(at("shut"), 0)} {
		k.check(err)
	}
	k.close()
	if _, err := k.open().Changes(0); err != nil {
		t.Error(err)
	}
	for _, r := range k.restore(0, nil, false) {
		if r.Outcome == Conflict || r.Outcome == NotKept {
			t.Errorf("%+v", r)
		}
	}
	k.same(before)
	if got := outcomes(k.restore(0, nil, false)); strings.Contains(got, "restored") {
		t.Error(got)
	}
}

// TestRenameKilled: the session was killed after a rename was noted and before it
// was made. Nothing is moved, and nothing removed.
func TestRenameKilled(t *testing.T) {
	at := func(rel string) place { return place{0, rel} }
	for _, to := range []string{"new", "other", "mine", "empty"} {
		for _, from := range []string{"f", "d"} {
			t.Run(from+" to "+to, func(t *testing.T) {
				k := newKeeper(t, 1, roomy)
				k.plant(0, map[string]string{"f": "f", "d/x": "x", "other": "other", "empty/": ""})
				before := k.snapshots()
				k.check(k.write(at("mine"), "session"))
				if k.exists(at(to)) {
					k.save(at(to), Remove)
				}
				k.check(k.s.Renamed(0, from, 0, to, from == "d"))
				for n := range 4 {
					l := k.open()
					l.EndedAt(time.Now().Add(time.Hour))
					all, err := l.Changes(0)
					if err != nil || len(all) > 1 {
						t.Errorf("%+v, %v", all, err)
					}
					if n < 3 {
						k.killed(0, n)
					}
				}
				k.restore(0, nil, true)
				k.same(before)
				k.close()
			})
		}
	}
}

// TestTrees: what moved from one tree to another goes back.
func TestTrees(t *testing.T) {
	k := newKeeper(t, 2, roomy)
	k.plant(0, map[string]string{"d/x": "x"})
	before := k.snapshots()
	k.check(k.rename(place{0, "d"}, place{1, "e"}))
	k.check(k.write(place{1, "e/x"}, "new"))
	k.close()
	l := k.open()
	for tree, want := range []string{"deleted d,deleted d/x", "added e,added e/x"} {
		all, err := l.Changes(tree)
		k.check(err)
		var got []string
		for _, c := range all {
			got = append(got, fmt.Sprint(c.Kind(), " ", c.Path))
		}
		if s := strings.Join(got, ","); s != want {
			t.Errorf("tree %d: %s", tree, s)
		}
	}
	if got := outcomes(k.restore(1, nil, false)); got != "e: removed\n" {
		t.Error(got)
	}
	k.restore(0, nil, false)
	k.same(before)
	if _, err := l.Changes(2); err == nil {
		t.Error("there is a third tree")
	}
}

// TestTreesReplaced: what moved to another tree, over a file, and was written to there goes
// back, and so does that file, in one run or in two.
func TestTreesReplaced(t *testing.T) {
	for _, again := range []bool{false, true} {
		k := newKeeper(t, 2, roomy)
		k.plant(0, map[string]string{"c": "c"})
		k.plant(1, map[string]string{"a": "a"})
		before := k.snapshots()
		k.check(k.rename(place{0, "c"}, place{1, "a"}))
		k.check(k.write(place{1, "a"}, "new"))
		k.close()
		l := k.open()
		for tree := range k.trees {
			if again {
				l = k.open()
			}
			results, err := l.Restore(tree, nil, false)
			k.check(err)
			k.fine(results)
		}
		k.same(before)
	}
}
