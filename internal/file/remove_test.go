package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// dig makes directories within each other below at, by descriptor: no path leads to the last.
// Each also has a file, a link and a directory with something in it. closed takes all
// permissions away on the way out.
func dig(t *testing.T, at string, levels int, closed bool) {
	t.Helper()
	dir, err := unix.Open(at, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; i < levels && err == nil; i++ {
		err = errors.Join(unix.Mkdirat(dir, "a-name-of-some-length", 0o755), unix.Symlinkat("/", dir, "link"), unix.Mkdirat(dir, "side", 0o755),
			unix.Mkdirat(dir, "side/full", 0o755), unix.Mknodat(dir, "side/full/pipe", unix.S_IFIFO, 0))
		var next int
		if err == nil {
			next, err = unix.Openat(dir, "a-name-of-some-length", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		if closed && err == nil {
			err = unix.Fchmod(dir, 0)
		}
		unix.Close(dir)
		dir = next
	}
	unix.Close(dir)
	if err != nil {
		t.Fatal(err)
	}
}

// TestRemoveDeepTrees: deeper than a path can say, and than descriptors can be open, with
// and without permissions.
func TestRemoveDeepTrees(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = 200
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) })
	for name, closed := range map[string]bool{"open": false, "closed": true} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			dig(t, dir, 3000, closed)
			if err := RemoveTree(dir); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("still there: %v", err)
			}
		})
	}
}

// TestRemoveFollowsNoLink: what a link leads to stays, also if the link is what is removed.
func TestRemoveFollowsNoLink(t *testing.T) {
	at := t.TempDir()
	kept, tree, link := filepath.Join(at, "kept"), filepath.Join(at, "tree"), filepath.Join(at, "link")
	err := errors.Join(os.Mkdir(kept, 0o755), os.WriteFile(filepath.Join(kept, "file"), nil, 0o600), os.Mkdir(tree, 0o755),
		os.Symlink(kept, filepath.Join(tree, "link")), os.Symlink(kept, link))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(RemoveTree(tree), RemoveTree(link), RemoveTree(filepath.Join(at, "nothing"))); err != nil {
		t.Error(err)
	}
	names, err := os.ReadDir(at)
	if err != nil || len(names) != 1 || names[0].Name() != "kept" {
		t.Errorf("%v is left, %v", names, err)
	}
	if info, err := os.Stat(filepath.Join(kept, "file")); err != nil || info.Mode() != 0o600 {
		t.Errorf("what a link led to is %v, %v", info, err)
	}
}

// TestRemoveSaysWhatStays: one file cannot be removed, everything else goes.
func TestRemoveSaysWhatStays(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount something over a file")
	}
	dir := filepath.Join(t.TempDir(), "tree")
	fixed := filepath.Join(dir, "a", "fixed")
	err := errors.Join(os.MkdirAll(filepath.Dir(fixed), 0o755), os.WriteFile(fixed, nil, 0o600), os.MkdirAll(filepath.Join(dir, "b", "c"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // which ends with the test, and the mount with it
	err = errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount(fixed, fixed, "", unix.MS_BIND, ""))
	if err != nil {
		t.Fatal(err)
	}
	err = RemoveTree(dir)
	if err := unix.Unmount(fixed, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, unix.EBUSY) {
		t.Errorf("it says %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what could be removed is left: %v", err)
	}
	if err := RemoveTree(dir); err != nil {
		t.Error(err)
	}
}

// TestRemoveTogether: who removes the same tree at the same time has no error by it.
func TestRemoveTogether(t *testing.T) {
	for range 4 {
		top := filepath.Join(t.TempDir(), "top")
		for i := range 40 {
			if err := os.MkdirAll(filepath.Join(top, strconv.Itoa(i), "a/b/c"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		ends := make(chan error, 3)
		for range cap(ends) {
			go func() { ends <- RemoveTree(top) }()
		}
		for range cap(ends) {
			if err := <-ends; err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Lstat(top); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is there: %v", err)
		}
	}
}
