package microvm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/program"
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
		"another module":  func(at string) error { return os.WriteFile(at+".ko", []byte("forged"), 0o644) },
		"a module gone":   func(at string) error { return os.Remove(at + ".ko") },
		"an open module":  func(at string) error { return os.Chmod(at+".ko", 0o666) },
		"a list that ends": func(at string) error {
			b, err := os.ReadFile(at + ".sums")
			return errors.Join(err, swap(at+".sums", string(b[:len(b)-3])))
		},
		"a pipe": func(at string) error { return errors.Join(os.Remove(at+".kernel"), unix.Mkfifo(at+".kernel", 0o400)) },
		"a link elsewhere": func(at string) error {
			return errors.Join(os.Rename(at+".kernel", at+".k"), os.Symlink(at+".k", at+".kernel"))
		},
	} {
		at := filepath.Join(t.TempDir(), "key")
		modules := at + ".ko"
		if err := os.WriteFile(modules, []byte("module"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := fill(at, []byte("kernel"), func(w io.Writer) ([]source, error) {
			_, err := io.WriteString(w, "archive")
			return []source{{modules, fmt.Sprintf("%x", sha256.Sum256([]byte("module")))}}, err
		}); err != nil {
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

// TestModuleName: what was put aside is no module.
func TestModuleName(t *testing.T) {
	for base, want := range map[string]string{"ext4.ko": "ext4", "nf-tables.ko.xz": "nf_tables", "a.ko.gz": "a", "a.ko.zst": "a", "ext4.ko.old": "", "ext4.ko.xz.bak": "", ".ko": "", "ext4.kox": "", "ko": ""} {
		if got, ok := moduleName(base); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", base, got, ok)
		}
	}
}

// TestModulesJudged: a module that others can change is not packed.
func TestModulesJudged(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "virtio_pci.ko")
	for mode, want := range map[os.FileMode]string{0o644: "kernel module", 0o666: "everybody may change"} {
		if err := errors.Join(os.WriteFile(at, []byte("no module"), 0o600), os.Chmod(at, mode), os.WriteFile(filepath.Join(dir, "modules.builtin"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := (&kernel{modules: dir, file: &program.File{}}).modulesOf(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%o: %v", mode, err)
		}
	}
}

// TestThinByUse: what is used stays, however old it is.
func TestThinByUse(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * used)
	for n := range 5 {
		for _, end := range []string{".kernel", ".archive", ".sums"} {
			p := filepath.Join(dir, fmt.Sprint(n)+end)
			if err := errors.Join(os.WriteFile(p, nil, keptMode), os.Chtimes(p, old, old)); err != nil {
				t.Fatal(err)
			}
		}
	}
	touch(filepath.Join(dir, "3"))
	thin(dir)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 3 || !strings.HasPrefix(filepath.Base(left[0]), "3.") {
		t.Errorf("%q, %v", left, err)
	}
}
