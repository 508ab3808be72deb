package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRepositories(t *testing.T) {
	for name, tt := range map[string]struct {
		made []string
		want []string
	}{
		"one":          {[]string{"a/.git", "b/c"}, []string{"a"}},
		"two":          {[]string{"a/.git", "b/.git", "c/.git"}, []string{"a", "b"}},
		"deep":         {[]string{"forge/owner/one/.git", "forge/other/two/.git"}, []string{"forge/other/two", "forge/owner/one"}},
		"too deep":     {[]string{"a/b/c/d/.git", "a/b/c/e/.git"}, nil},
		"inside one":   {[]string{"a/.git", "a/b/.git"}, []string{"a"}},
		"hidden":       {[]string{".cache/a/.git", "node_modules/b/.git", "c/.git"}, []string{"c"}},
		"nothing":      {nil, nil},
		"pointer file": {[]string{"a/.git/", "b/.git"}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, m := range tt.made {
				if err := os.MkdirAll(filepath.Join(root, m), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if got := repositories(root); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// The search ends, however much there is.
func TestRepositoriesAreBounded(t *testing.T) {
	root := t.TempDir()
	for i := range maxLooked + 10 {
		if err := os.MkdirAll(filepath.Join(root, fmt.Sprintf("d%04d", i), "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxLooked { // each one level below what is looked at
		if err := os.Mkdir(filepath.Join(root, fmt.Sprintf("d%04d", i), "x/.git"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := repositories(root); got != nil {
		t.Errorf("%q lies beyond what is looked at", got)
	}
}
