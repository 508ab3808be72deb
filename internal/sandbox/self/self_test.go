package self

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

const small = "a small program"

// laidIn lays the program and returns what would be executed.
func laidIn(t *testing.T, dir string) string {
	t.Helper()
	program, name = small, "0123abcd"
	t.Cleanup(func() { program, name = "", "" })
	fd, err := lay(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if fd < high {
		t.Errorf("descriptor %d would be another one in a child", fd)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLay: what is in the place of the program and is not as it was laid is replaced.
func TestLay(t *testing.T) {
	other := func(path string) error { return os.WriteFile(path, []byte("some"), 0o500) }
	for what, spoil := range map[string]func(path string) error{
		"nothing is there": func(path string) error { return nil },
		"it is shorter":    other,
		"others may write": func(path string) error { return os.Chmod(path, 0o722) },
		"it is a link": func(path string) error {
			return os.Symlink("/bin/true", path)
		},
		"it has a second name": func(path string) error { return os.Link(path, path+"2") },
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "program")
			laidIn(t, dir)
			path := filepath.Join(dir, "0123abcd")
			was, err := os.Open(path) // and stays: else the next file could get its inode
			if err != nil {
				t.Fatal(err)
			}
			defer was.Close()
			before, err := was.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if what == "it is a link" || what == "it is shorter" {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			if got := laidIn(t, dir); got != small {
				t.Errorf("%q is executed", got)
			}
			after, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if os.SameFile(before, after) != (what == "nothing is there") {
				t.Errorf("the same file: %v", os.SameFile(before, after))
			}
		})
	}
}

// TestLayAtOnce: sessions that begin at the same time share one file, which keeps its name.
func TestLayAtOnce(t *testing.T) {
	program, name = small, "0123abcd"
	t.Cleanup(func() { program, name = "", "" })
	dir := filepath.Join(t.TempDir(), "program")
	fds := make(chan int, 16)
	for range cap(fds) {
		go func() {
			fd, err := lay(dir)
			if err != nil {
				t.Error(err)
			}
			fds <- fd
		}()
	}
	var first unix.Stat_t
	for i := range cap(fds) {
		fd := <-fds
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if i == 0 {
			first = st
		}
		if st.Ino != first.Ino {
			t.Error("two files")
		}
	}
}

// TestLayNot: where nothing can be laid there is an error, and ringfence starts itself.
func TestLayNot(t *testing.T) {
	program, name = small, "0123abcd"
	t.Cleanup(func() { program, name = "", "" })
	at := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lay(filepath.Join(at, "program")); err == nil {
		t.Error("a program was laid below a file")
	}
	if Path() != Whole {
		t.Errorf("%q is executed", Path())
	}
}

// TestThin: versions do not pile up.
func TestThin(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 * most {
		program, name = small, fmt.Sprint("version", i)
		fd, err := lay(dir)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
	}
	program, name = "", ""
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > most {
		t.Errorf("%d are left (%v)", len(entries), err)
	}
}
