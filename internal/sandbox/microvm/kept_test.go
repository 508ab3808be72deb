package microvm

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/state"
)

// TestKept: what is booted is what was made, and no other content, link, pipe or second name of
// the same file is taken for it.
func TestKept(t *testing.T) {
	for name, change := range map[string]func(at string) error{
		"another kernel":  func(at string) error { return swap(at+".kernel", "forged") },
		"another archive": func(at string) error { return swap(at+".archive", "forged") },
		"a writable file": func(at string) error { return os.Chmod(at+".kernel", 0o600) },
		"a second name":   func(at string) error { return os.Link(at+".kernel", at+".also") },
		"no digests":      func(at string) error { return os.Remove(at + ".sums") },
		"no archive":      func(at string) error { return os.Remove(at + ".archive") },
		"a digest of one": func(at string) error { return swap(at+".sums", "x") },
		"a pipe":          func(at string) error { return errors.Join(os.Remove(at+".kernel"), unix.Mkfifo(at+".kernel", 0o400)) },
		"a link elsewhere": func(at string) error {
			return errors.Join(os.Rename(at+".kernel", at+".k"), os.Symlink(at+".k", at+".kernel"))
		},
	} {
		at := filepath.Join(t.TempDir(), "key")
		if err := fill(at, []byte("kernel"), func(w io.Writer) error { _, err := io.WriteString(w, "archive"); return err }); err != nil {
			t.Fatal(err)
		}
		m, err := compared(at)
		var st unix.Stat_t
		if err != nil || unix.Stat(at+".kernel", &st) != nil {
			t.Fatal(err)
		}
		if o := m.kernel.bind("/k"); o.ID == nil || o.ID.Ino != st.Ino || o.ID.Dev != st.Dev || string(o.Src) != at+".kernel" || o.Write {
			t.Errorf("it is bound as %+v", o)
		}
		if err := change(at); err != nil {
			t.Fatal(err)
		}
		if _, err := compared(at); err == nil {
			t.Errorf("%s is taken for what was made", name)
		}
	}
}

// swap writes another content, as who has the directory can.
func swap(path, text string) error {
	return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), keptMode))
}

// TestCacheIsState: it lies where no session is shown anything.
func TestCacheIsState(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	dir, err := cache()
	if d, err2 := state.XDG(os.Getenv, home); err != nil || err2 != nil || filepath.Dir(dir) != d.State {
		t.Errorf("%q, %v, %v", dir, err, err2)
	}
}
