package file_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.WriteFile(at("four"), []byte("1234"), 0o600), os.WriteFile(at("open"), nil, 0o600), os.Chmod(at("open"), 0o620),
		os.Symlink("four", at("link")), unix.Mkfifo(at("pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		most       int64
		flags      int
		plain, own error
	}{
		{"four", 4, 0, nil, nil},
		{"four", 3, 0, file.ErrLong, file.ErrLong},
		{"none", 4, 0, fs.ErrNotExist, fs.ErrNotExist},
		{"link", 4, 0, nil, unix.ELOOP},
		{"link", 4, unix.O_NOFOLLOW, unix.ELOOP, unix.ELOOP},
		{"pipe", 4, 0, file.ErrNotRegular, file.ErrNotOurs},
		{".", 4, 0, file.ErrNotRegular, file.ErrNotOurs},
		{"open", 4, 0, nil, file.ErrNotOurs},
	} {
		if _, err := file.Read(at(c.name), c.most, c.flags); !errors.Is(err, c.plain) {
			t.Errorf("Read %s, %d: %v", c.name, c.most, err)
		}
		if _, err := file.ReadOwn(at(c.name), c.most); !errors.Is(err, c.own) {
			t.Errorf("ReadOwn %s, %d: %v", c.name, c.most, err)
		}
	}
}

// TestReadLength: what is read is what is there, whatever length the file says it has.
func TestReadLength(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Seek(6, 0)
	if b, err := file.ReadRegular(f, 8); err != nil || string(b) != "78" {
		t.Errorf("from the middle: %q, %v", b, err)
	}
	if b, err := file.Read(path, 5, 0); !errors.Is(err, file.ErrLong) || string(b) != "12345" {
		t.Errorf("too long: %q, %v", b, err)
	}
	if b, err := file.Read("/proc/self/stat", 1<<16, 0); err != nil || len(b) == 0 {
		t.Errorf("proc, which says nothing of length: %q, %v", b, err)
	}
}
