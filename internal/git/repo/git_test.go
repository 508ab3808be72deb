package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/fault"
)

// world is a directory with a HOME, in which real git builds repositories.
type world struct {
	t    *testing.T
	dir  string // canonical
	home string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, home: filepath.Join(dir, "home")}
	w.mkdir("home")
	return w
}

func (w *world) path(rel string) string { return filepath.Join(w.dir, rel) }

func (w *world) mkdir(rel string) string {
	w.t.Helper()
	if err := os.MkdirAll(w.path(rel), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return w.path(rel)
}

func (w *world) write(rel, content string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(rel), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) symlink(target, rel string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Symlink(target, w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
}

// try runs git in rel with an environment of its own.
func (w *world) try(rel string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "init.templateDir="}, args...)...)
	cmd.Dir = w.path(rel)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	out, err := cmd.Output()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (w *world) git(rel string, args ...string) string {
	w.t.Helper()
	out, err := w.try(rel, args...)
	if err != nil {
		w.t.Fatalf("git %v in %s: %v", args, rel, err)
	}
	return out
}

// bare makes the least that git takes for a bare repository.
func (w *world) bare(rel string) {
	w.t.Helper()
	w.mkdir(rel + "/objects")
	w.mkdir(rel + "/refs")
	w.write(rel+"/HEAD", "ref: refs/heads/main\n")
}

// repo makes a repository with one commit.
func (w *world) repo(rel string) {
	w.t.Helper()
	w.git(".", "init", "-q", rel)
	w.git(rel, "commit", "-q", "--allow-empty", "-m", "first")
}

// worktree makes main with the linked worktree wt.
func (w *world) worktree() {
	w.t.Helper()
	w.repo("main")
	w.git("main", "worktree", "add", "-q", "../wt")
}

// super makes the superproject super with the submodule libs/sub.
func (w *world) super() {
	w.t.Helper()
	w.repo("sub")
	w.repo("super")
	w.git("super", "submodule", "--quiet", "add", "../sub", "libs/sub")
	w.git("super", "commit", "-q", "-m", "sub")
}

func (w *world) find(rel string) *Repo {
	w.t.Helper()
	r, err := Find(w.path(rel), w.home)
	if err != nil {
		w.t.Fatalf("Find(%s): %v", rel, err)
	}
	return r
}

// refused asserts that Find refuses, as a policy matter and with a cure.
func (w *world) refused(rel string) error {
	w.t.Helper()
	r, err := Find(w.path(rel), w.home)
	if err == nil {
		w.t.Errorf("Find(%s) = %+v, want a refusal", rel, r)
		return nil
	}
	if fault.KindOf(err) != fault.Refused || fault.HintOf(err) == "" {
		w.t.Errorf("Find(%s): %v: not a refusal with a hint", rel, err)
	}
	return err
}
