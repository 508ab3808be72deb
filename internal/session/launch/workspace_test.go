package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/state"
)

func TestRefuseWorkspace(t *testing.T) {
	const home = "/home/dev"
	for path, want := range map[string]string{
		"/":                "above your home",
		"/home":            "above your home",
		"/home/dev":        "your home directory",
		"/etc":             "directory of the system",
		"/tmp":             "directory of the system",
		"/root":            "directory of the system",
		"/proc/self":       "holds no files of yours",
		"/run/user/1000":   "holds no files of yours",
		"/.ringfence":      "directory of the system",
		"/home/dev/x":      "",
		"/home/developer":  "",
		"/home/dev-evil/x": "",
		"/srv/www":         "",
		"/tmp/x":           "",
	} {
		err := refuseWorkspace(path, home)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: refused: %v", path, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", path, err, want)
		case want != "" && (fault.KindOf(err) != fault.Refused || fault.HintOf(err) == ""):
			t.Errorf("%s: refused without a kind or a hint", path)
		}
	}
}

func TestWorkspaceBySymlink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	ws, err := openWorkspace(link, false, "/home/dev", "test")
	if err != nil || ws.Path != real || ws.Given != link || ws.Write {
		t.Errorf("%+v, %v", ws, err)
	}
}

// TestLift: a directory that was a project of its own is not widened to the
// repository around it because its .git is gone.
func TestLift(t *testing.T) {
	root := "/work/repo"
	for _, c := range []struct{ known, dir, want string }{
		{"", "/work/repo/a/b", root},
		{"/work/repo/a", "/work/repo/a/b", "/work/repo/a"},
		{"/work/repo/a", "/work/repo/a", "/work/repo/a"},
		{"/work/repo", "/work/repo/a", root},
		{"/work/other", "/work/repo/a", root},
	} {
		dir := t.TempDir()
		if c.known != "" {
			if err := os.MkdirAll(filepath.Join(dir, "projects", state.Key(c.known)), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		b := Base{Person: Person{Dirs: state.Dirs{State: dir}}, Place: Place{Dir: c.dir}}
		if got := b.lift(root); got != c.want || (got != root) != (len(b.Said.Warnings) == 1) {
			t.Errorf("from %s with %q known: %s, warnings %q", c.dir, c.known, got, b.Said.Warnings)
		}
	}
}
