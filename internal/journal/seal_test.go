package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

func TestSign(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "seal")
	if _, err := loadKey(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key that nobody made: %v", err)
	}
	s, err := openKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := loadKey(dir)
	if err != nil || again.ID() != s.ID() || len(s.ID()) != sealIDLen {
		t.Fatalf("%v, %v", again, err)
	}
	sig := s.Sign("one", []byte("text"))
	if !again.Verify("one", []byte("text"), sig) {
		t.Error("its own signature does not fit")
	}
	other, err := openKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"another purpose": s.Verify("two", []byte("text"), sig),
		"another text":    s.Verify("one", []byte("texts"), sig),
		"shifted":         s.Verify("one\nte", []byte("xt"), sig),
		"another key":     other.Verify("one", []byte("text"), sig),
		"no signature":    s.Verify("one", []byte("text"), nil),
	} {
		if ok {
			t.Errorf("%s: verified", name)
		}
	}
}

// TestFirst: sessions that begin at once agree on one key, and nothing else stays.
func TestFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "seal")
	ids := make([]string, 16)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			s, err := openKey(dir)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = s.ID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("keys %q", ids)
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, keyName), &st); err != nil || st.Mode&0o777 != 0o600 || st.Nlink != 1 {
		t.Errorf("%o, %d links, %v", st.Mode, st.Nlink, err)
	}
}

func TestLoadRefuses(t *testing.T) {
	whole := func(t *testing.T) (dir, path string) {
		dir = filepath.Join(t.TempDir(), "seal")
		if _, err := openKey(dir); err != nil {
			t.Fatal(err)
		}
		return dir, filepath.Join(dir, keyName)
	}
	for what, spoil := range map[string]func(dir, path string) error{
		"readable by others": func(dir, path string) error { return os.Chmod(path, 0o640) },
		"a directory of all": func(dir, path string) error { return os.Chmod(dir, 0o777) },
		"a symlink":          func(dir, path string) error { return errors.Join(os.Rename(path, path+"2"), os.Symlink("key2", path)) },
		"a fifo":             func(dir, path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) },
		"empty":              func(dir, path string) error { return os.WriteFile(path, nil, 0o600) },
		"cut":                func(dir, path string) error { return os.Truncate(path, int64(keyFileLen-1)) },
		"longer":             func(dir, path string) error { return appendTo(path, "x") },
		"another line":       func(dir, path string) error { return appendTo(path, "\n") },
		"another kind of key": func(dir, path string) error {
			return os.WriteFile(path, []byte("ringfence-seal-2 "+strings.Repeat("A", 43)+"=\n"), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir, path := whole(t)
			before, _ := os.ReadFile(path)
			if err := spoil(dir, path); err != nil {
				t.Fatal(err)
			}
			if s, err := openKey(dir); s != nil || err == nil || fault.KindOf(err) != fault.Refused && what != "a symlink" {
				t.Errorf("%v, %v", s, err)
			} else if strings.Contains(err.Error(), string(bytes.TrimSpace(before[len(keyIntro):]))) {
				t.Errorf("the error tells the key: %v", err)
			}
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// FuzzParse: what is taken as a key is what would be written of it.
func FuzzKey(f *testing.F) {
	f.Add([]byte(keyIntro + strings.Repeat("A", 43) + "=\n"))
	f.Add([]byte(keyIntro + strings.Repeat("A", 42) + "B=\n"))
	f.Add([]byte(keyIntro))
	f.Fuzz(func(t *testing.T, b []byte) {
		seed, err := parseKey(b)
		if err != nil {
			if seed != nil {
				t.Error("both a key and an error")
			}
			return
		}
		if len(seed) != 32 || len(b) != keyFileLen || b[len(b)-1] != '\n' || bytes.Count(b, []byte("\n")) != 1 {
			t.Errorf("%q is a key", b)
		}
	})
}
