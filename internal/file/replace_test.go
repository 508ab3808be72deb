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

func TestReplace(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	for _, text := range []string{"one", "another"} {
		if err := file.Replace(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		holds(t, path, text, 0o644)
	}
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace(link, []byte("own"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds(t, link, "own", 0o600) // the link is gone
	holds(t, path, "another", 0o644)
	only(t, dir, "a", "link")
}

// TestReplaceFails: what was there stays, and nothing is left beside it.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := file.Replace(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no")
	if err := file.ReplaceWith(path, 0o600, func(f *os.File) error { f.WriteString("new"); return failure }); !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if file.Replace(filepath.Join(dir, "d"), nil, 0o600) == nil {
		t.Error("a directory was replaced")
	}
	if err := file.Create(path, []byte("new"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
	if err := file.Replace(filepath.Join(dir, "none", "a"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	holds(t, path, "old", 0o600)
	only(t, dir, "a", "d")
}

func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	if err := errors.Join(file.Create(path, []byte("old"), 0o640), os.Symlink("a", link)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 12, 34); err != nil {
			t.Fatal(err)
		}
	}
	var was, is unix.Stat_t
	if err := errors.Join(unix.Stat(path, &was), file.Rewrite(link, []byte("new")), unix.Stat(path, &is)); err != nil {
		t.Fatal(err)
	}
	if was.Uid != is.Uid || was.Gid != is.Gid {
		t.Errorf("it belongs to %d, %d", is.Uid, is.Gid)
	}
	holds(t, path, "new", 0o640)
	if to, err := os.Readlink(link); err != nil || to != "a" {
		t.Errorf("the link: %q, %v", to, err)
	}
	if err := file.Rewrite(filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	only(t, dir, "a", "link")
}

func TestBehind(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(at("a"), nil, 0o600), os.Symlink("a", at("link")), os.Symlink("none", at("broken"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "a", "link": "a", "missing": "missing"} {
		if got, err := file.Behind(at(name)); err != nil || got != at(want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// The store of secrets once took the place of such a link, and the policy refused it.
	// To refuse is right: a link that a person made is not ours to remove.
	if _, err := file.Behind(at("broken")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func holds(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	st, e := os.Lstat(path)
	if err := errors.Join(err, e); err != nil {
		t.Fatal(err)
	}
	if string(got) != text || st.Mode() != mode {
		t.Errorf("%s: %q, mode %v", path, got, st.Mode())
	}
}

func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		if i >= len(names) || e.Name() != names[i] {
			t.Errorf("%s is there", e.Name())
		}
	}
}
