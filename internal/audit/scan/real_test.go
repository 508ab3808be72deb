package scan

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// realTrees are trees that other people wrote and that lie on this machine: modules
// of Go, packages of npm, and Go itself.
func realTrees(t *testing.T) []string {
	ask := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return strings.TrimSpace(string(out))
	}
	cache, goroot, npm := ask("go", "env", "GOMODCACHE"), ask("go", "env", "GOROOT"), ask("npm", "root", "-g")
	var out []string
	for _, pattern := range []string{
		cache + "/*/*@*", cache + "/*/*/*@*", cache + "/*/*/*/*@*", goroot, goroot + "/src/cmd", npm + "/*", npm + "/*/node_modules/*",
		"/var/cache/ringfence-test/*/node_modules/*", "/var/cache/ringfence-test/*/node_modules/@*/*",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			if st, err := os.Stat(dir); err == nil && st.IsDir() && !strings.HasPrefix(filepath.Base(dir), ".") {
				out = append(out, dir)
			}
		}
	}
	return out
}

// TestRealTrees: of at least ten large trees nothing is said.
func TestRealTrees(t *testing.T) {
	const large, want = 150, 10 // names
	sizes := map[string]int{}
	for _, dir := range realTrees(t) {
		r := look(t, dir)
		for _, f := range r.Findings {
			t.Errorf("%s: %s %s %s:%d: %s", dir, f.ID, f.Level, f.Path, f.Line, f.What)
		}
		if !r.Complete {
			t.Errorf("%s: not all of it was looked at", dir)
		}
		if r.Entries >= large {
			sizes[dir] = r.Entries
		}
	}
	if len(sizes) < want {
		t.Fatalf("only %d trees of at least %d names: %v", len(sizes), large, sizes)
	}
	total := 0
	for _, n := range sizes {
		total += n
	}
	t.Logf("%d large trees, %d names", len(sizes), total)
	// The control: the same trees with one hostile file are not silent.
	dirs := slices.Sorted(func(yield func(string) bool) {
		for d := range sizes {
			if !yield(d) {
				return
			}
		}
	})
	copied := filepath.Join(t.TempDir(), "tree")
	if err := os.CopyFS(copied, os.DirFS(dirs[len(dirs)-1])); err != nil {
		t.Fatal(err)
	}
	put(t, copied, ".claude/settings.json", `{"hooks": {"Stop": [1]}}`)
	if r := look(t, copied); !dangerous(r) {
		t.Error("a hostile file among them is not found")
	}
}
