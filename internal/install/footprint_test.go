package install

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func newFootprint(t *testing.T) (string, footprint) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root, footprint{Path: filepath.Join(root, "a/b/record")}
}

func plant(t *testing.T, f footprint) (made []string) {
	t.Helper()
	unlock, err := f.Lock(func(m []string) ([]byte, error) {
		made = m
		return []byte("first"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	return made
}

func TestAppearsAndGoes(t *testing.T) {
	root, f := newFootprint(t)
	made := plant(t, f)
	if want := []string{root + "/a", root + "/a/b"}; !slices.Equal(made, want) {
		t.Errorf("made %q", made)
	}
	if data, err := f.Read(); string(data) != "first" || err != nil {
		t.Errorf("%q %v", data, err)
	}
	if err := f.Remove(made); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(root); len(entries) != 0 || err != nil {
		t.Errorf("left %v %v", entries, err)
	}
}

// TestNotAlone: what somebody put into a directory of ours keeps it.
func TestNotAlone(t *testing.T) {
	root, f := newFootprint(t)
	made := plant(t, f)
	if err := os.WriteFile(root+"/a/theirs", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(made); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root + "/a/theirs"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root + "/a/b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory that is ours alone is left: %v", err)
	}
}

// TestNotOurs: a record that others could have written is not believed.
func TestNotOurs(t *testing.T) {
	_, f := newFootprint(t)
	plant(t, f)
	if err := os.Chmod(f.Path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); !errors.Is(err, ErrNotOurs) {
		t.Error(err)
	}
	if err := os.Chmod(filepath.Dir(f.Path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Lock(nil); !errors.Is(err, ErrNotOurs) {
		t.Error(err)
	}
	link := footprint{Path: f.Path + "-link"}
	if err := os.Symlink(f.Path, link.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := link.Read(); err == nil {
		t.Error("a link was followed")
	}
}

// TestSweep: what was left half-made goes.
func TestSweep(t *testing.T) {
	root, f := newFootprint(t)
	if err := os.MkdirAll(tmpOf(root+"/a")+"/b", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Sweep(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(root); len(entries) != 0 || err != nil {
		t.Errorf("left %v %v", entries, err)
	}
}
