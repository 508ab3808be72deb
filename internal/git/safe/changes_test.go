package safe_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/git/safe"
)

func sh(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x.test"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestChanges compares with what git itself says, for both formats of objects, with and
// without an index, and sees that no program of the repository's settings ran.
func TestChanges(t *testing.T) {
	at, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	git := safe.Git(at)
	if _, err := safe.Git("git").Run(t.Context(), t.TempDir(), "version"); !errors.Is(err, safe.ErrNoGit) {
		t.Errorf("PATH is asked: %v", err)
	}
	for _, format := range []string{"sha1", "sha256"} {
		dir := filepath.Join(t.TempDir(), "app")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		sh(t, dir, `git init -q --object-format=`+format+` .
echo one >a; echo one >b; echo one >gone; echo skip >.gitignore; git add . && git commit -qm one
echo two >a; echo two >b; git add b; rm gone; echo new >'new file'; mkdir sub; echo x >sub/x; echo x >skip; echo x >out
echo out >.git/info/exclude`)
		want := sh(t, dir, "git status --porcelain --ignored --no-renames")
		sh(t, dir, `git config core.fsmonitor 'touch `+dir+`/../ran'; git config filter.e.clean 'touch `+dir+`/../ran; cat'; echo '* filter=e' >.git/info/attributes`)
		index, err := os.ReadFile(dir + "/.git/index")
		info, _ := os.Stat(dir + "/.git/index")
		if err != nil {
			t.Fatal(err)
		}
		exclude, _ := os.ReadFile(dir + "/.git/info/exclude")
		tree := safe.Tree{Path: dir, Objects: dir + "/.git/objects", Head: sh(t, dir, "git rev-parse HEAD"), Index: index, Seen: info.ModTime(), Exclude: exclude}
		got, err := git.Changes(context.Background(), tree, t.TempDir(), true)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range got {
			mark := map[bool]string{true: "M", false: " "}
			code := mark[c.Staged] + mark[c.Changed]
			switch {
			case c.New:
				code = "??"
			case c.Ignored:
				code = "!!"
			}
			lines = append(lines, code+" "+c.Path)
		}
		text := strings.ReplaceAll(strings.Join(lines, "\n"), " M gone", " D gone")
		if plain := strings.ReplaceAll(want, `"`, ""); strings.TrimSpace(text) != plain {
			t.Errorf("%s:\n%s\nwant\n%s", format, text, plain)
		}
		tree.Index = nil
		if got, err = git.Changes(context.Background(), tree, t.TempDir(), false, filepath.Join(dir, "b")); err != nil || len(got) != 1 || got[0] != (safe.Change{Path: "b", Changed: true}) {
			t.Errorf("%s: without an index: %v, %v", format, got, err)
		}
		if entries, _ := os.ReadDir(filepath.Dir(dir)); slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "ran" }) {
			t.Error("a program of the repository's settings was run")
		}
	}
}
