package hostexec

import (
	"os"
	"os/exec"
	"path/filepath"
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

// TestOrdinaryGitIsHarmless: what git writes in ordinary work into files that are
// held waits for nobody.
func TestOrdinaryGitIsHarmless(t *testing.T) {
	r := newRepository(t)
	rules := builtinRules(t)
	harmless := func(rel string, old []byte) {
		t.Helper()
		if v := rules.Judge(rel, false); !v.Hold {
			t.Errorf("%s is not held", rel)
		}
		if new := r.read(rel); !HarmlessIn(r.tree, rel, old, new) {
			t.Errorf("%s is not harmless:\n%s", rel, new)
		}
	}
	harmless(".git/config", nil)
	old := r.read(".git/config")
	for _, args := range [][]string{
		{"checkout", "-q", "-b", "topic"}, {"commit", "-q", "--allow-empty", "-m", "two"}, {"branch", "-u", "origin/main"},
		{"remote", "add", "fork", "https://forge.test/fork.git"}, {"config", "user.email", "b@b.test"},
		{"branch", "-m", "topic", "other"}, {"stash"}, {"rebase", "-q", "main"},
		{"worktree", "add", "-q", "wt"}, {"worktree", "add", "-q", ".claude/worktrees/w"},
		{"submodule", "--quiet", "add", filepath.Join(r.home, "upstream"), "libs/up"}, {"submodule", "--quiet", "update", "--init"},
	} {
		r.git(r.tree, args...)
	}
	harmless(".git/config", old)
	for _, rel := range []string{
		"wt/.git", ".git/worktrees/wt/commondir", ".git/worktrees/wt/gitdir", ".claude/worktrees/w/.git", ".git/worktrees/w/commondir",
		"libs/up/.git", ".git/modules/libs/up/config", ".git/hooks/pre-commit.sample",
	} {
		harmless(rel, nil)
	}
	r.git(r.tree, "init", "-q", "sub")
	harmless("sub/.git/config", nil)
	r.git(r.tree, "branch", "-q", "-D", "main")
	harmless(".git/config", old)
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
		if HarmlessIn(r.tree, ".git/config", old, new) {
			t.Errorf("%q is harmless", args)
		}
		if len(Inspect(".git/config", old, new)) == 0 {
			t.Errorf("nothing is said of %q", args)
		}
	}
}
