package repo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRepoTool: the git directory that the tool `repo` keeps for a worktree is its own by
// where it lies; no other is, and objects are shared only among the tool's own.
func TestRepoTool(t *testing.T) {
	for _, c := range []struct {
		name, link, objects string // relative to ROOT
		ok                  bool
		extra               []string
	}{
		{"its own", ".repo/projects/sub/app.git", "", true, []string{".repo/projects/sub/app.git"}},
		{"shared objects", ".repo/projects/sub/app.git", ".repo/project-objects/platform/app.git/objects", true, []string{".repo/projects/sub/app.git", ".repo/project-objects/platform/app.git"}},
		{"objects elsewhere", ".repo/projects/sub/app.git", "private/objects", true, []string{".repo/projects/sub/app.git"}},
		{"objects of no store", ".repo/projects/sub/app.git", ".repo/project-objects/objects", true, []string{".repo/projects/sub/app.git"}},
		{"another one's", ".repo/projects/sub/other.git", "", false, nil},
		{"one above", ".repo/projects/app.git", "", false, nil},
		{"no directory of the tool's", "repo/projects/sub/app.git", "", false, nil},
		{"a second tool below", ".repo/projects/.repo/projects/sub/app.git", "", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root, home := filepath.Join(top, "tree"), filepath.Join(top, "home")
			gd, work := filepath.Join(root, c.link), filepath.Join(root, "sub/app")
			for _, dir := range []string{home, work, gd + "/refs", gd} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			objects := gd + "/objects"
			if c.objects != "" {
				if err := os.Symlink(filepath.Join(root, c.objects), objects); err != nil {
					t.Fatal(err)
				}
				objects = filepath.Join(root, c.objects)
			}
			for _, err := range []error{os.MkdirAll(objects, 0o755), os.WriteFile(gd+"/HEAD", []byte("ref: refs/heads/main\n"), 0o644), os.Symlink(gd, work+"/.git")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			r, err := Find(work, home)
			if (err == nil && r != nil) != c.ok {
				t.Fatalf("%+v, %v", r, err)
			}
			if !c.ok {
				return
			}
			var want []string
			for _, e := range c.extra {
				want = append(want, filepath.Join(root, e))
			}
			if !slices.Equal(r.Extra, want) {
				t.Errorf("shown are %q, not %q", r.Extra, want)
			}
		})
	}
}
