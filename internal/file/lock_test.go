package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

func TestLock(t *testing.T) {
	dir := t.TempDir()
	for name, open := range map[string]func() (*os.File, error){
		"file":      func() (*os.File, error) { return file.LockFile(filepath.Join(dir, "lock"), unix.LOCK_EX|unix.LOCK_NB) },
		"directory": func() (*os.File, error) { return file.LockDir(dir, unix.LOCK_EX|unix.LOCK_NB) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(); !errors.Is(err, unix.EWOULDBLOCK) {
			t.Errorf("%s: the second: %v", name, err)
		}
		f.Close()
		if f, err = open(); err != nil {
			t.Errorf("%s: after it was closed: %v", name, err)
		}
		f.Close()
	}
	if err := os.Symlink("lock", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := file.LockFile(filepath.Join(dir, "link"), unix.LOCK_EX); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link: %v", err)
	}
}

func TestNamed(t *testing.T) {
	dir := t.TempDir()
	f, err := file.LockFile(filepath.Join(dir, "lock"), unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	named := func() bool { return file.Named(unix.AT_FDCWD, f.Name(), int(f.Fd())) }
	if !named() {
		t.Error("it has its name")
	}
	if err := file.Replace(f.Name(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if named() {
		t.Error("another file has its name")
	}
}
