package hostexec

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is a tree in which the real git works.
type repository struct {
	t    *testing.T
	home string
	tree string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is not installed")
	}
	home := t.TempDir()
	r := &repository{t, home, filepath.Join(home, "tree")}
	r.git(home, "init", "-q", "-b", "main", "upstream")
	r.git(filepath.Join(home, "upstream"), "commit", "-q", "--allow-empty", "-m", "one")
	r.git(home, "clone", "-q", filepath.Join(home, "upstream"), "tree")
	return r
}

func (r *repository) git(dir string, args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.test",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.test", "GIT_TERMINAL_PROMPT=0",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (r *repository) read(rel string) []byte {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.tree, rel))
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// realTree is a directory of the disk.
type realTree string

func (root realTree) At(rel string) (Kind, bool) {
	st, err := os.Lstat(filepath.Join(string(root), rel))
	switch {
	case err != nil:
		return 0, false
	case st.IsDir():
		return KindDir, true
	case st.Mode().IsRegular():
		return KindFile, true
	}
	return KindLink, true
}

// TestOrdinaryGitIsKnown: whatever git leaves in its directories after ordinary work
// has a shape that passes, but for what leads git or is run by it.
func TestOrdinaryGitIsKnown(t *testing.T) {
	r := newRepository(t)
	rules := builtinRules(t)
	for _, args := range [][]string{
		{"checkout", "-q", "-b", "topic"}, {"commit", "-q", "--allow-empty", "-m", "two"}, {"branch", "-u", "origin/main"},
		{"remote", "add", "fork", "https://forge.test/fork.git"}, {"branch", "-m", "topic", "feature/config"}, {"stash"}, {"rebase", "-q", "main"},
		{"worktree", "add", "-q", "wt"}, {"submodule", "--quiet", "add", filepath.Join(r.home, "upstream"), "libs/up"},
		{"submodule", "--quiet", "update", "--init"}, {"notes", "add", "-m", "n"}, {"bisect", "start"}, {"gc", "-q"}, {"pack-refs", "--all"},
		{"commit-graph", "write", "--split"}, {"multi-pack-index", "write"}, {"update-index", "--split-index"}, {"tag", "-m", "t", "v1"},
	} {
		r.git(r.tree, args...)
	}
	// What git update-server-info, which gc calls, renames when it is whole.
	for _, rel := range []string{".git/info/refs_WIEFro", ".git/objects/info/packs_L8SmS0"} {
		if v := rules.JudgeIn(realTree(r.tree), rel, KindFile); v.Hold || v.Form != FormAny {
			t.Errorf("%s is held: %+v", rel, v)
		}
	}
	leads := []string{"config", "commondir", "gitdir", "hooks"}
	err := filepath.WalkDir(filepath.Join(r.tree, ".git"), func(p string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(r.tree, p)
		if err != nil || rel == ".git" {
			return err
		}
		kind, _ := realTree(r.tree).At(rel)
		v := rules.JudgeIn(realTree(r.tree), rel, kind)
		if slices.ContainsFunc(leads, func(n string) bool { return strings.Contains("/"+rel+"/", "/"+n+"/") }) {
			if !v.Hold && kind != KindDir {
				t.Errorf("%s is not held", rel)
			}
			return nil
		}
		if v.Hold {
			t.Errorf("%s is held: %+v", rel, v)
		}
		if v.Form != FormAny {
			if err := Fits(v.Form, r.read(rel), []byte(plainOld)); err != nil {
				t.Errorf("%s: %v", rel, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Fits(FormModules, r.read(".gitmodules"), nil); err != nil {
		t.Error(err)
	}
}

// TestOtherGitIsNot: the same git, asked for what runs programs or leads elsewhere.
func TestOtherGitIsNot(t *testing.T) {
	r := newRepository(t)
	old := r.read(".git/config")
	for _, args := range [][]string{
		{"config", "core.fsmonitor", "touch /tmp/x;false"}, {"config", "core.hooksPath", ".githooks"}, {"config", "core.sshCommand", "false #"},
		{"config", "alias.st", "!id"}, {"config", "credential.helper", "!echo"}, {"config", "filter.x.smudge", "id"},
		{"config", "diff.x.textconv", "id"}, {"config", "include.path", "../evil.cfg"}, {"config", "url.https://evil.test/.insteadOf", "https://forge.test/"},
		{"config", "remote.origin.uploadpack", "id;"}, {"config", "extensions.worktreeConfig", "true"}, {"remote", "set-url", "origin", "https://evil.test/x"},
		{"remote", "set-url", "--push", "origin", "https://evil.test/x"}, {"remote", "add", "x", "ext::sh -c id"},
	} {
		if err := os.WriteFile(filepath.Join(r.tree, ".git/config"), old, 0o600); err != nil {
			t.Fatal(err)
		}
		r.git(r.tree, args...)
		new := r.read(".git/config")
		if HarmlessConfig(old, new, nil) {
			t.Errorf("%q is harmless", args)
		}
		if len(Inspect(".git/config", old, new)) == 0 {
			t.Errorf("nothing is said of %q", args)
		}
	}
}
