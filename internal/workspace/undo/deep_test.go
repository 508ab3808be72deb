package undo

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// pit is the path of directories with long names, so many bytes in all.
func pit(letter string, size int) string {
	var rel string
	for size-len(rel) > 256 {
		rel = join(rel, strings.Repeat(letter, 200))
	}
	return join(rel, strings.Repeat(letter, size-len(rel)-1))
}

// dig makes a path of directories, one by one as an agent does.
func (k *keeper) dig(rel string) {
	k.t.Helper()
	for i := 1; i <= len(rel); i++ {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		k.check(k.s.Created(0, rel[:i], true))
		dir, name := split(rel[:i])
		k.check(k.in(dir, func(fd int) error { return unix.Mkdirat(fd, name, 0o755) }))
	}
}

// in does something in a directory, however deep.
func (k *keeper) in(rel string, do func(fd int) error) error {
	k.t.Helper()
	fd, err := openAt(k.fds[0], rel, unix.O_PATH|unix.O_DIRECTORY)
	k.check(err)
	defer unix.Close(fd)
	return do(fd)
}

// sink renames where no single path leads.
func (k *keeper) sink(from, to string) error {
	k.t.Helper()
	if err := k.s.Renamed(0, from, 0, to, true); err != nil {
		return err
	}
	a, old := split(from)
	b, name := split(to)
	return k.in(a, func(src int) error {
		return k.in(b, func(dst int) error { return unix.Renameat(src, old, dst, name) })
	})
}

// sunk is a session that put what it changed out of reach of any single path.
func sunk(t testing.TB) (k *keeper, before []map[string]string, deep string) {
	k = newKeeper(t, 1, roomy)
	at := func(rel string) place { return place{0, rel} }
	k.plant(0, map[string]string{"src/library/component/main.c": "old", "src/library/component/g.c": "g", "src/other": "o",
		"Makefile": "all:", "a": "moved along", "src/z/in": "z"})
	before = k.snapshots()
	for _, err := range []error{
		k.write(at("src/library/component/main.c"), "EVIL"), k.remove(at("src/library/component/g.c")),
		k.write(at("src/library/component/new.c"), "n"), k.write(at("Makefile"), "evil"), k.rename(at("a"), at("src/library/a")),
	} {
		k.check(err)
	}
	deep = pit("k", 4080)
	k.dig(deep)
	k.check(k.sink("src", deep+"/src"))
	k.close()
	return k, before, deep
}

// TestMovedDeep: what was moved so deep that one system call does not take its path
// is listed and comes back.
func TestMovedDeep(t *testing.T) {
	k, before, deep := sunk(t)
	l := k.open()
	all, err := l.Changes(0)
	k.check(err)
	got := map[string]change.Change{}
	for _, c := range all {
		got[c.Path] = c
	}
	main := got[deep+"/src/library/component/main.c"]
	if main.From != "src/library/component/main.c" || main.New == nil || main.New.Size != 4 || main.New.Hash == "" || main.Old.Size != 3 {
		t.Errorf("main.c: %+v", main)
	}
	if got["Makefile"].Kind() != change.Changed || got["src/library/component/g.c"].Kind() != change.Deleted ||
		got[deep+"/src/library/component/new.c"].Kind() != change.Added || got[deep+"/src/library/a"].From != "a" ||
		got[deep+"/src/other"].From != "src/other" {
		t.Errorf("%d changes: %+v", len(all), all)
	}
	if lost := l.Lost(0); len(lost) > 0 {
		t.Errorf("lost: %q", lost)
	}
	for rel, want := range map[string]string{"src/other": "o", "src/library/component/main.c": "old", "a": "moved along"} {
		f, err := l.OpenOld(0, rel)
		k.check(err)
		data, err := io.ReadAll(f)
		if f.Close(); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", rel, data, err)
		}
	}
	for _, r := range k.restore(0, nil, false) {
		if r.Outcome == Conflict || r.Outcome == NotKept {
			t.Errorf("%+v", r)
		}
	}
	k.same(before)
}

// TestMovedDeepParts: also one thing by its name of now, which is too long.
func TestMovedDeepParts(t *testing.T) {
	k, before, deep := sunk(t)
	if got := outcomes(k.restore(0, []string{deep + "/src/library/a"}, false)); got != "a: restored\n" {
		t.Error(got)
	}
	k.restore(0, []string{"src"}, false)
	k.restore(0, nil, false)
	k.same(before)
}

// TestMovedDeepKilled: the notes of a restore hold the long paths too.
func TestMovedDeepKilled(t *testing.T) {
	for n := 0; ; n++ {
		k, before, _ := sunk(t)
		dead := k.killed(0, n)
		for _, r := range k.restore(0, nil, false) {
			if r.Outcome == Conflict || r.Outcome == NotKept {
				t.Errorf("after %d writes: %+v", n, r)
			}
		}
		k.same(before)
		if !dead {
			return
		}
	}
}

// TestOutOfReach: nothing that is followed gets so deep that it is not any more, by
// however many renames.
func TestOutOfReach(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"d/f": "f", "e": "e"})
	before := k.snapshots()
	k.check(k.write(place{0, "d/f"}, "x"))
	var pits []string
	for _, letter := range []string{"x", "y", "z"} {
		pits = append(pits, pit(letter, 4000))
		k.dig(pits[len(pits)-1])
	}
	k.check(k.sink("d", pits[0]+"/d"))
	top := func(rel string) string { name, _, _ := strings.Cut(rel, "/"); return name }
	k.check(k.sink(top(pits[0]), pits[1]+"/p"))
	if err := k.sink(top(pits[1]), pits[2]+"/p"); !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("a rename out of reach: %v", err)
	}
	k.close()
	for _, r := range k.restore(0, nil, false) {
		if r.Outcome == Conflict {
			t.Errorf("%+v", r)
		}
	}
	k.same(before)
}

// TestTooDeep: what the session made deeper than anything is followed takes nothing
// else away.
func TestTooDeep(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"f": "old", "d/g": "g"})
	for _, letter := range []string{"x", "y", "z"} {
		k.dig(pit(letter, 4000))
	}
	top := func(letter string) string { return strings.Repeat(letter, 200) }
	k.check(k.sink(top("x"), pit("y", 4000)+"/p"))
	k.check(k.sink(top("y"), pit("z", 4000)+"/p"))
	k.check(k.write(place{0, "f"}, "new"))
	k.check(k.s.Created(0, strings.Repeat("n", 300), false)) // which fails
	k.check(k.removeAll(place{0, "d"}))
	k.check(k.write(place{0, "d"}, "file"))
	k.close()
	l := k.open()
	all, err := l.Changes(0)
	k.check(err)
	kinds := map[string]change.Kind{}
	for _, c := range all {
		kinds[c.Path] = c.Kind()
		if len(c.Path) > maxDeep || strings.HasPrefix(c.Path, "n") {
			t.Errorf("%.20q, %d bytes, is in the list", c.Path, len(c.Path))
		}
	}
	if kinds["f"] != change.Changed || kinds["d/g"] != change.Deleted || kinds[top("z")] != change.Added {
		t.Errorf("%v", kinds)
	}
	if lost := l.Lost(0); len(lost) != 1 || !strings.Contains(lost[0], "too deep") {
		t.Errorf("lost: %.300q", lost)
	}
	got := map[string]Outcome{}
	for _, r := range k.restore(0, nil, false) {
		got[r.Path] = r.Outcome
	}
	if got["f"] != Restored || got["d"] != Restored || got["d/g"] != Restored || got[top("z")] != Conflict {
		t.Errorf("%v", got)
	}
}

// TestBlobLost: content that is kept and cannot be read is said of its own path only.
func TestBlobLost(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"a": "1", "b": "2", "c": "3"})
	for _, rel := range []string{"a", "b", "c"} {
		k.check(k.write(place{0, rel}, "new"))
	}
	k.close()
	blob := filepath.Join(k.dir, keptName, blobName(2))
	k.check(os.Remove(blob))
	k.check(os.Mkdir(blob, 0o700))
	l := k.open()
	all, err := l.Changes(0)
	if err != nil || len(all) != 3 {
		t.Errorf("%+v, %v", all, err)
	}
	if lost := l.Lost(0); len(lost) != 1 || !strings.HasPrefix(lost[0], `"b": what is kept of it cannot be read`) {
		t.Errorf("lost: %q", lost)
	}
	if got := outcomes(k.restore(0, nil, false)); got != "a: restored\nb: conflict\nc: restored\n" {
		t.Error(got)
	}
}

// TestShut: a directory that we may not enter, and may not open either, is said and
// hides nothing beside it.
func TestShut(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"d/f": "1", "d/moved/g": "2", "e": "3", "h": "4"})
	for _, err := range []error{
		k.write(place{0, "d/f"}, "new"), k.write(place{0, "e"}, "new"), k.write(place{0, "d/new"}, "x"), k.rename(place{0, "h"}, place{0, "d/h"}),
		k.chmod(place{0, "d"}, 0o0),
	} {
		k.check(err)
	}
	k.close()
	before := snapshotOf(t, k)
	asNobody(t, k, func() {
		all, err := k.open().Changes(0)
		k.check(err)
		got := map[string]change.Kind{}
		for _, c := range all {
			got[c.Path] = c.Kind()
			if strings.HasPrefix(c.Path, "d/") && (c.New == nil || c.New.Hash != "") {
				t.Errorf("%+v is not known", c)
			}
		}
		if got["e"] != change.Changed || got["d/f"] != change.Changed || got["d/new"] != change.Added || got["d/h"] != change.Renamed {
			t.Errorf("%v", got)
		}
		if os.Geteuid() != 0 {
			return
		}
		for _, r := range k.restore(0, []string{"d", "h"}, false) {
			if r.Outcome != Conflict {
				t.Errorf("%+v", r)
			}
		}
	})
	if now := snapshotOf(t, k); os.Geteuid() == 0 && now != before {
		t.Errorf("%s, was %s", now, before)
	}
	k.restore(0, nil, false)
	if got := snapshotOf(t, k); got != "1 4 3" {
		t.Errorf("%s", got)
	}
}

// TestShutAtEnd: what is in a directory that the session shut cannot be looked at when it
// ends. That is no reason to think that somebody put it there later. What the session made
// in one of its own that it shut goes too.
func TestShutAtEnd(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"d/": ""})
	before := k.snapshots()
	for _, dir := range []string{"", "d"} {
		if os.Geteuid() == 0 {
			k.check(os.Chown(k.path(place{0, dir}), 65534, -1))
		}
	}
	asNobody(t, k, func() {
		k.check(errors.Join(k.mkdir(place{0, "d/made"}), k.chmod(place{0, "d"}, 0o600),
			k.mkdir(place{0, "own"}), k.mkdir(place{0, "own/made"}), k.chmod(place{0, "own"}, 0o500)))
		k.close()
		k.fine(k.restore(0, nil, false))
		k.same(before)
	})
}

// snapshotOf reads three files, wherever one is.
func snapshotOf(t *testing.T, k *keeper) string {
	t.Helper()
	var all []string
	for _, rel := range []string{"d/f", "h", "e"} {
		b, _ := os.ReadFile(k.path(place{0, rel}))
		all = append(all, string(b))
	}
	return strings.Join(all, " ")
}

// asNobody does something without the rights of root over files.
func asNobody(t *testing.T, k *keeper, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	k.check(filepath.WalkDir(k.dir, func(path string, _ os.DirEntry, err error) error { return errors.Join(err, os.Chown(path, 65534, -1)) }))
	for dir := filepath.Dir(k.dir); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		k.check(os.Chmod(dir, 0o755))
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := unix.SetfsuidRetUid(65534); err != nil {
		t.Fatal(err)
	}
	defer unix.SetfsuidRetUid(0)
	do()
}
