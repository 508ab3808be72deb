package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/fault"
)

// newDirs returns directories in a temporary HOME.
func newDirs(t *testing.T) Dirs {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := XDG(func(string) string { return "" }, home)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func open(t *testing.T, d Dirs, root string) *Project {
	t.Helper()
	p, err := d.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestXDG(t *testing.T) {
	run := t.TempDir()
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
	wide := t.TempDir()
	if err := os.Chmod(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(run, link); err != nil {
		t.Fatal(err)
	}
	defaults := Dirs{Config: "/h/.config/ringfence", State: "/h/.local/state/ringfence"}
	tests := map[string]struct {
		env  map[string]string
		want Dirs
	}{
		"nothing set": {nil, defaults},
		"all set": {map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s/", "XDG_RUNTIME_DIR": run},
			Dirs{"/c/ringfence", "/s/ringfence", run + "/ringfence"}},
		"relative":               {map[string]string{"XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "../s", "XDG_RUNTIME_DIR": "r"}, defaults},
		"runtime open to others": {map[string]string{"XDG_RUNTIME_DIR": wide}, defaults},
		"runtime is a symlink":   {map[string]string{"XDG_RUNTIME_DIR": link}, defaults},
		"runtime does not exist": {map[string]string{"XDG_RUNTIME_DIR": run + "/gone"}, defaults},
	}
	for name, tt := range tests {
		got, err := XDG(func(k string) string { return tt.env[k] }, "/h")
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, home := range []string{"", "h", "./h"} {
		if _, err := XDG(os.Getenv, home); fault.KindOf(err) != fault.Usage {
			t.Errorf("HOME %q: %v", home, err)
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := NewID()
		if seen[id] || len(id) != idLen || strings.Trim(id, idAlphabet) != "" {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
	// Pinned: a changed key would orphan everybody's state.
	if k := Key("/home/u/project"); k != "4eb6cd28fb98b739" {
		t.Errorf("Key = %q", k)
	}
	if Key("/a") == Key("/b") || !isKey(Key("/a")) || isKey("..") || isKey("ABCDEF0123456789") {
		t.Error("keys are not told apart")
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"root":"\"/a\"","created":"2026-01-01T00:00:00Z"}`), "/a")
	f.Add([]byte(`{"version":2}`), "/bytes\xff\xfe")
	f.Add([]byte(`{"version":1,"root":"/a"}{}`), "/new\nline \"q\" \\ \x00")
	f.Fuzz(func(t *testing.T, b []byte, root string) {
		if r, err := decodeRecord(b); err != nil && r.Root != "" {
			t.Errorf("both %+v and %v", r, err)
		}
		enc, err := record{Root: root}.encode()
		if err != nil || !utf8.Valid(enc) {
			t.Fatalf("encode %q: %q, %v", root, enc, err)
		}
		if r, err := decodeRecord(enc); err != nil || r.Root != root {
			t.Errorf("%q came back as %q, %v", root, r.Root, err)
		}
	})
}
