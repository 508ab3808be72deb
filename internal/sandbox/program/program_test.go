package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	kind := Kind{Name: "runsc", Hint: "get it", Key: "runsc-sha256"}
	dir, err := os.MkdirTemp(".", "runsc-") // not in /tmp: everybody may write there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "runsc")
	write := func(mode os.FileMode) {
		t.Helper()
		os.Remove(at)
		if err := os.WriteFile(at, []byte("program"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(why, named, path string) {
		t.Helper()
		if p, err := kind.Find(named, path); err == nil {
			t.Errorf("%s: found %s", why, p.Path)
		}
	}
	refused("nothing is there", at, "")
	write(0o755)
	p, err := kind.Find(at, "")
	if err != nil {
		t.Fatal(err)
	}
	defer p.File.Close()
	sum, err := p.Sum()
	if err != nil || p.Path != at {
		t.Error(p.Path, err)
	}
	for want, ok := range map[string]bool{"": true, sum: true, strings.ToUpper(sum): true, sum[1:]: false, strings.Repeat("0", 64): false} {
		if err := p.Pinned(sum, want); (err == nil) != ok {
			t.Errorf("pin %q: %v", want, err)
		}
	}
	refused("a relative path", "runsc", "")
	refused("a relative directory", "", "bin:.")
	if err := os.Chmod(dir, 0o775); err != nil {
		t.Fatal(err)
	}
	refused("a directory that others may change", "", dir)
	write(0o775)
	refused("others may write", at, "")
	write(0o644)
	refused("no program", at, "")
	os.Remove(at)
	os.Mkdir(at, 0o755)
	refused("a directory", at, "")
}
