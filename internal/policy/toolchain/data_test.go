package toolchain

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/file"
)

func TestData(t *testing.T) {
	names := map[string]bool{}
	for _, c := range data().Toolchain {
		if c.Name == "" || names[c.Name] {
			t.Errorf("name %q", c.Name)
		}
		names[c.Name] = true
		if len(c.Roots) == 0 == (len(c.Beside) == 0) {
			t.Errorf("%s: either roots or beside", c.Name)
		}
		if c.Home != "" && len(c.Roots) == 0 {
			t.Errorf("%s: a variable moves what lies nowhere", c.Name)
		}
		for _, p := range append(slices.Clone(c.Roots), c.Also...) {
			if !strings.HasPrefix(p, "~/") && !strings.HasPrefix(p, "/") || filepath.Clean(p) != p {
				t.Errorf("%s: %q", c.Name, p)
			}
		}
		for _, p := range slices.Concat(c.Show, c.Hide, c.Beside) {
			if !filepath.IsLocal(p) {
				t.Errorf("%s: %q leads out", c.Name, p)
			}
		}
	}
	for _, c := range data().Toolchain {
		for _, w := range c.With {
			if !names[w] {
				t.Errorf("%s needs %q, which nobody knows", c.Name, w)
			}
		}
	}
}

// A cache is mounted over nothing: a read-only root around it would leave no
// place for it, and a root inside it would be hidden by it.
func TestCachesAndRootsAreApart(t *testing.T) {
	for _, cache := range Caches() {
		if !strings.HasPrefix(cache.Path, "~/") {
			t.Errorf("%s is not under HOME", cache.Path)
		}
		for _, c := range data().Toolchain {
			for _, root := range c.Roots {
				for _, show := range c.Show {
					path := filepath.Join(root, show)
					if show == "*" && slices.ContainsFunc(c.Hide, func(h string) bool { return filepath.Join(root, h) == cache.Path }) {
						continue
					}
					if file.Within(cache.Path, strings.TrimSuffix(path, "/*")) || file.Within(path, cache.Path) {
						t.Errorf("cache %s and %s of %s overlap", cache.Path, path, c.Name)
					}
				}
			}
		}
	}
}

func TestCaches(t *testing.T) {
	var paths []string
	for _, c := range Caches() {
		paths = append(paths, c.Path)
	}
	for _, want := range []string{"~/.cache", "~/.npm", "~/.local/share/pnpm/store", "~/.cargo/registry", "~/.cargo/git", "~/go/pkg", "~/.gradle", "~/.m2/repository"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is missing", want)
		}
	}
	Caches()[0].Path = "changed"
	if Caches()[0].Path == "changed" {
		t.Error("the list can be changed by a caller")
	}
}
