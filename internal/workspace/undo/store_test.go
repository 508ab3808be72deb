package undo

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTorn: a log that is cut anywhere is read up to its last whole record.
func TestTorn(t *testing.T) {
	k := eventful(t)
	k.happen()
	path := filepath.Join(k.dir, logName)
	whole, err := os.ReadFile(path)
	k.check(err)
	var ends []int
	count := func(data []byte) (n int) {
		size, err := readRecords(bytes.NewReader(data), 0, func(record) error { n++; return nil })
		k.check(err)
		ends = append(ends, int(size))
		return n
	}
	last := 0
	for size := range len(whole) + 1 {
		n := count(whole[:size])
		if n < last || n > last+1 || ends[size] > size {
			t.Fatalf("%d bytes: %d records after %d", size, n, last)
		}
		last = n
	}
	k.check(os.WriteFile(path, whole[:len(whole)-1], 0o600))
	if l := k.open(); !l.End().IsZero() {
		t.Error("the end was torn off and is known")
	}
	k.check(os.WriteFile(path, whole[:3], 0o600))
	if _, err := Open(k.dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

// TestDamaged: any other damage is an error that names the file and the record.
func TestDamaged(t *testing.T) {
	k := eventful(t)
	k.happen()
	path := filepath.Join(k.dir, logName)
	whole, err := os.ReadFile(path)
	k.check(err)
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1 << (i % 8)
		k.check(os.WriteFile(path, bad, 0o600))
		if _, err := Open(k.dir); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), ": record ") {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

// TestParallel: many at once, each in its own part and all at the same files.
func TestParallel(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	for i := range 8 {
		for j := range 20 {
			k.plant(0, map[string]string{fmt.Sprintf("d%d/f%d", i, j): strings.Repeat("old", j*1000)})
		}
	}
	k.plant(0, map[string]string{"shared": strings.Repeat("old", 1<<20)})
	before := k.snapshots()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				k.work(i, j)
			}
		})
	}
	all.Wait()
	k.close()
	for _, r := range k.restore(0, nil, false) {
		if r.Outcome == Conflict || r.Outcome == NotKept {
			t.Errorf("%+v", r)
		}
	}
	k.same(before)
}

func (k *keeper) work(i, j int) {
	f := place{0, fmt.Sprintf("d%d/f%d", i, j)}
	g := place{0, fmt.Sprintf("d%d/g%d", i, j)}
	k.save(place{0, "shared"}, Write)
	var err error
	switch j % 4 {
	case 0:
		err = k.write(f, "new")
	case 1:
		err = k.remove(f)
	case 2:
		err = k.rename(f, g)
	case 3:
		err = errors.Join(k.write(g, "new"), k.rename(g, f), k.mkdir(g), k.write(place{0, g.rel + "/x"}, "x"))
	}
	if err == nil && j == 10 {
		err = unix.Truncate(k.path(place{0, "shared"}), 0)
	}
	if err != nil {
		k.t.Error(err)
	}
}

// TestStoreFiles: the store is closed to others, and so are the copies in it.
func TestStoreFiles(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"config": "old"})
	k.check(unix.Chmod(k.path(place{0, "config"}), 0o6777))
	k.check(k.write(place{0, "config"}, "new"))
	k.close()
	for rel, want := range map[string]uint32{"": 0o700, keptName: 0o700, logName: 0o600, keptName + "/1": 0o600} {
		e, err := look(unix.AT_FDCWD, filepath.Join(k.dir, rel))
		if err != nil || e.mode != want {
			t.Errorf("%s: %o, %v", rel, e.mode, err)
		}
	}
	if _, err := Create(k.dir, k.trees, roomy); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	for _, trees := range [][]string{nil, {"relative"}, {"/" + strings.Repeat("x", 5000)}} {
		if _, err := Create(filepath.Join(k.dir, "new"), trees, roomy); err == nil {
			t.Errorf("%q passes", trees)
		}
	}
}

// TestRefused: what makes no sense is an error, and changes nothing.
func TestRefused(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	size := k.s.records.size
	for what, err := range map[string]error{
		"tree":       k.s.Created(1, "x", false),
		"no path":    k.s.Created(0, "", false),
		"up":         k.s.Created(0, "a/../../x", false),
		"absolute":   k.s.Created(0, "/x", false),
		"zero":       k.s.Created(0, "x\x00y", false),
		"long":       k.s.Created(0, strings.Repeat("x/", 3000)+"x", false),
		"save tree":  k.s.Save(-1, "", k.fds[0], ".", Mode),
		"missing":    k.s.Save(0, "x", k.fds[0], "x", Write),
		"into":       k.s.Renamed(0, "a", 0, "a/b", true),
		"onto":       k.s.Renamed(0, "a/b", 0, "a", true),
		"not":        k.s.NotRenamed(0, "a", 0, "b"),
		"link paths": k.s.Linked(0, "a", 0, ".."),
	} {
		if err == nil {
			t.Errorf("%s passes", what)
		}
	}
	if !errors.Is(k.s.Save(0, "x", k.fds[0], "x", Write), unix.ENOENT) || k.s.records.size != size {
		t.Error("a missing entry")
	}
	k.close()
	for what, err := range map[string]error{"created": k.s.Created(0, "x", false), "save": k.s.Save(0, "x", k.fds[0], "x", Mode),
		"renamed": k.s.Renamed(0, "x", 0, "y", false), "linked": k.s.Linked(0, "x", 0, "y"), "close": k.s.Close()} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
}

// TestQuiet: what happens over and over to the session's own files, and below its
// own directories, is not written down and takes no memory.
func TestQuiet(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	k.plant(0, map[string]string{"index": "old"})
	once := func(n int) {
		lock, index := place{0, "index.lock"}, place{0, "index"}
		k.check(k.write(lock, "new"))
		k.check(k.rename(lock, index))
		k.check(k.write(place{0, "tmp"}, "x"))
		k.check(k.remove(place{0, "tmp"}))
		if n == 0 {
			k.check(k.mkdir(place{0, "node_modules"}))
		}
		dir := place{0, fmt.Sprintf("node_modules/p%d", n)}
		k.check(k.mkdir(dir))
		k.check(k.write(place{0, dir.rel + "/index.js"}, "x"))
	}
	once(0)
	size, count := k.s.records.size, k.s.names.count
	for n := range 50 {
		once(n + 1)
	}
	if k.s.records.size != size || k.s.names.count != count {
		t.Errorf("%d bytes and %d names, then %d and %d", size, count, k.s.records.size, k.s.names.count)
	}
	k.close()
}

// TestOtherFilesystem: where no link can be made and nothing be shared, contents
// are copied.
func TestOtherFilesystem(t *testing.T) {
	base, err := os.MkdirTemp("/dev/shm", "undo-test-")
	if err != nil {
		t.Fatal("a second file system is needed: ", err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	k := newKeeperAt(t, base, filepath.Join(t.TempDir(), "store"), 1, roomy)
	k.plant(0, map[string]string{"d/x": strings.Repeat("x", 1<<20), "d/y": "y", "z": "z"})
	before := k.snapshots()
	k.check(k.write(place{0, "z"}, "new"))
	k.check(k.removeAll(place{0, "d"}))
	k.close()
	for _, r := range k.restore(0, nil, false) {
		if r.Outcome != Restored {
			t.Errorf("%+v", r)
		}
	}
	k.same(before)
}

// TestSparse: holes stay holes, and are zeros again.
func TestSparse(t *testing.T) {
	k := newKeeper(t, 1, roomy)
	s := place{0, "sparse"}
	f, err := os.Create(k.path(s))
	k.check(err)
	_, err = f.WriteAt([]byte("end"), 64<<20)
	k.check(errors.Join(err, f.Truncate(100<<20), f.Close()))
	k.check(k.write(s, "new"))
	k.close()
	k.restore(0, nil, false)
	var st unix.Stat_t
	k.check(unix.Stat(k.path(s), &st))
	data, err := os.ReadFile(k.path(s))
	k.check(err)
	if st.Size != 100<<20 || st.Blocks*512 > 1<<20 || string(data[64<<20:64<<20+3]) != "end" || len(bytes.Trim(data, "\x00")) != 3 {
		t.Errorf("%d bytes in %d blocks", st.Size, st.Blocks)
	}
}
