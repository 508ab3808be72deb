package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

var roomy = Limits{File: 1 << 30, Total: 1 << 30}

// keeper does what the session asks for, on the disk and with a store, like the
// one of a live session.
type keeper struct {
	t     testing.TB
	s     *Store
	trees []string
	fds   []int
	dir   string
	log   func(...any) // what a random session does

	readable bool // no second names before, no modes that shut us out
}

func newKeeper(t testing.TB, trees int, limits Limits) *keeper {
	t.Helper()
	base := t.TempDir()
	return newKeeperAt(t, base, filepath.Join(base, "store"), trees, limits)
}

func newKeeperAt(t testing.TB, base, store string, trees int, limits Limits) *keeper {
	t.Helper()
	unix.Umask(0o022)
	k := &keeper{t: t, dir: store, log: func(...any) {}}
	for i := range trees {
		tree := filepath.Join(base, fmt.Sprint("tree", i))
		if err := os.Mkdir(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(tree, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd); openUp(tree) })
		k.trees, k.fds = append(k.trees, tree), append(k.fds, fd)
	}
	var err error
	if k.s, err = Create(k.dir, k.trees, limits); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.s.release)
	return k
}

// openUp lets the cleaning after a test into every directory.
func openUp(tree string) {
	filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o755)
		}
		return nil
	})
}

func (k *keeper) path(s place) string { return filepath.Join(k.trees[s.tree], s.rel) }

func (k *keeper) exists(s place) bool {
	_, err := os.Lstat(k.path(s))
	return err == nil
}

// isDir says no where a link is on the way, and where nothing in it can be looked at: nobody
// asks the store of what is in there.
func (k *keeper) isDir(s place) bool {
	fd, err := openAt(k.fds[s.tree], join(s.rel, "."), unix.O_PATH|unix.O_DIRECTORY)
	unix.Close(fd)
	return err == nil
}

// preLink gives some files second names before the session.
func (k *keeper) preLink(rt *rapid.T) {
	for range rapid.IntRange(0, 6).Draw(rt, "links") {
		from, to := drawPlace(rt, len(k.trees)), drawPlace(rt, len(k.trees))
		if st, err := os.Lstat(k.path(from)); err == nil && st.Mode().IsRegular() {
			os.Link(k.path(from), k.path(to))
		}
	}
}

func (k *keeper) check(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *keeper) save(s place, how How) {
	k.t.Helper()
	dir, name := split(s.rel)
	if name == "" {
		name = "."
	}
	fd, err := openAt(k.fds[s.tree], dir, unix.O_PATH|unix.O_DIRECTORY)
	k.check(err)
	defer unix.Close(fd)
	k.check(k.s.Save(s.tree, s.rel, fd, name, how))
}

func (k *keeper) write(s place, data string) error {
	k.log("write", s, data)
	k.t.Helper()
	if k.exists(s) {
		k.save(s, Write)
	} else {
		k.check(k.s.Created(s.tree, s.rel, false))
	}
	f, err := os.OpenFile(k.path(s), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(data)
	return err
}

func (k *keeper) mkdir(s place) error {
	k.log("mkdir", s)
	k.t.Helper()
	if !k.exists(s) {
		k.check(k.s.Created(s.tree, s.rel, true))
	}
	return os.Mkdir(k.path(s), 0o755)
}

func (k *keeper) symlink(s place, says string) error {
	k.log("symlink", s, says)
	k.t.Helper()
	if !k.exists(s) {
		k.check(k.s.Created(s.tree, s.rel, false))
	}
	return os.Symlink(says, k.path(s))
}

func (k *keeper) remove(s place) error {
	k.log("remove", s)
	k.t.Helper()
	if !k.exists(s) {
		return fs.ErrNotExist
	}
	k.save(s, Remove)
	return os.Remove(k.path(s))
}

func (k *keeper) removeAll(s place) error {
	k.t.Helper()
	entries, err := os.ReadDir(k.path(s))
	for _, e := range entries {
		below := place{s.tree, join(s.rel, e.Name())}
		if err == nil && e.IsDir() {
			err = k.removeAll(below)
		} else if err == nil {
			err = k.remove(below)
		}
	}
	if err == nil {
		err = k.remove(s)
	}
	return err
}

func (k *keeper) rename(from, to place) error {
	k.log("rename", from, to)
	k.t.Helper()
	st, err := os.Lstat(k.path(from))
	if err != nil {
		return err
	}
	if at, err := os.Lstat(k.path(to)); err == nil {
		if os.SameFile(st, at) {
			return nil
		}
		k.save(to, Remove)
	}
	if err := k.s.Renamed(from.tree, from.rel, to.tree, to.rel, st.IsDir()); err != nil {
		return err
	}
	err = unix.Rename(k.path(from), k.path(to))
	if err != nil {
		k.check(k.s.NotRenamed(from.tree, from.rel, to.tree, to.rel))
	}
	return err
}

func (k *keeper) link(from, to place) error {
	k.log("link", from, to)
	k.t.Helper()
	if st, err := os.Lstat(k.path(from)); err != nil || !st.Mode().IsRegular() || k.exists(to) {
		return fs.ErrExist
	}
	k.check(k.s.Linked(from.tree, from.rel, to.tree, to.rel))
	return os.Link(k.path(from), k.path(to))
}

func (k *keeper) chmod(s place, mode uint32) error {
	k.log("chmod", s, mode)
	k.t.Helper()
	if st, err := os.Lstat(k.path(s)); err != nil || st.Mode()&fs.ModeSymlink != 0 {
		return fs.ErrNotExist
	}
	k.save(s, Mode)
	return unix.Chmod(k.path(s), mode)
}

// close ends the session. What comes after it has a later time: within one tick of the clock
// what an undo changes itself would look as if the session had done it.
func (k *keeper) close() {
	k.t.Helper()
	k.check(k.s.Close())
	k.waitTick()
}

// waitTick waits until the clock of the file system has moved.
func (k *keeper) waitTick() {
	k.t.Helper()
	end, path := k.open().end, filepath.Join(k.dir, "tick")
	for range 1_000_000 {
		k.check(os.WriteFile(path, nil, 0o600))
		e, err := look(unix.AT_FDCWD, path)
		k.check(errors.Join(err, os.Remove(path)))
		if e.ctime.after(end) {
			return
		}
	}
	k.t.Fatal("the clock of the file system stands still")
}

// open reads the log as another process would.
func (k *keeper) open() *Log {
	k.t.Helper()
	l, err := Open(k.dir)
	k.check(err)
	k.t.Cleanup(func() { l.Close() })
	return l
}

func (k *keeper) restore(tree int, paths []string, force bool) []Result {
	k.t.Helper()
	l := k.open()
	defer l.Close()
	results, err := l.Restore(tree, paths, force)
	k.check(err)
	return results
}

// plant makes a tree of before the session: names that end in a slash are
// directories, values that begin with an arrow are links.
func (k *keeper) plant(tree int, files map[string]string) {
	k.t.Helper()
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(k.trees[tree], name)
		k.check(os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			k.check(os.MkdirAll(path, 0o755))
		} else if says, ok := strings.CutPrefix(files[name], "-> "); ok {
			k.check(os.Symlink(says, path))
		} else {
			k.check(os.WriteFile(path, []byte(files[name]), 0o644))
			old := []unix.Timespec{{Sec: 1_500_000_000}, {Sec: 1_500_000_000 + int64(len(name)), Nsec: 123_456_789}}
			k.check(unix.UtimesNanoAt(unix.AT_FDCWD, path, old, 0))
		}
	}
}

// snapshot describes a tree: every name with type, mode, content, and the time of
// a file.
func snapshot(t testing.TB, tree string) map[string]string {
	t.Helper()
	all := map[string]string{}
	var visit func(rel string)
	visit = func(rel string) {
		path := filepath.Join(tree, rel)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			t.Fatal(err)
		}
		says := fmt.Sprintf("%o", st.Mode)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			data, err := os.ReadFile(path)
			if err != nil && os.Getuid() == 0 {
				t.Fatal(err)
			}
			says += fmt.Sprintf(" %d.%d %q", st.Mtim.Sec, st.Mtim.Nsec, data)
		case unix.S_IFLNK:
			link, _ := os.Readlink(path)
			says += " " + link
		case unix.S_IFDIR:
			entries, err := os.ReadDir(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				visit(join(rel, e.Name()))
			}
		}
		all[rel] = says
	}
	visit("")
	return all
}

func (k *keeper) snapshots() []map[string]string {
	k.t.Helper()
	var all []map[string]string
	for _, tree := range k.trees {
		all = append(all, snapshot(k.t, tree))
	}
	return all
}

func (k *keeper) same(want []map[string]string) {
	k.t.Helper()
	if diff := cmp.Diff(want, k.snapshots()); diff != "" {
		k.t.Fatalf("the trees are not as before (-before +now):\n%s", diff)
	}
}

// outcomes turns results into lines.
func outcomes(results []Result) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s: %s\n", r.Path, r.Outcome)
	}
	return b.String()
}
