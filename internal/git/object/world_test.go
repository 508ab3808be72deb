package object

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// world is a directory in which real git builds repositories.
type world struct {
	t   testing.TB
	dir string // canonical
}

func newWorld(t testing.TB) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, dir: dir}
}

func (w *world) path(rel string) string { return filepath.Join(w.dir, rel) }

func (w *world) objects(rel string) string { return w.path(rel + "/.git/objects") }

// try runs git in rel with stdin, in an environment of its own.
func (w *world) try(rel, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "init.templateDir=", "-c", "gc.auto=0"}, args...)...)
	cmd.Dir = w.path(rel)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test"}
	out, err := cmd.Output()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (w *world) git(rel string, args ...string) string {
	w.t.Helper()
	out, err := w.try(rel, "", args...)
	if err != nil {
		w.t.Fatalf("git %v in %s: %v", args, rel, err)
	}
	return out
}

func (w *world) write(rel, content string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(rel)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.RemoveAll(w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(rel), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// repo makes a repository with a history that deltifies well.
func (w *world) repo(rel, format string) {
	w.t.Helper()
	w.git(".", "init", "-q", "--object-format="+format, rel)
	text := ""
	for i := range 12 {
		text += strings.Repeat(strings.Repeat("line ", i)+"\n", 40)
		for j := range 40 {
			w.write(filepath.Join(rel, "dir", string(rune('a'+i%3))+strings.Repeat("x", j)), text[len(text)/2*(j%2):])
		}
		w.git(rel, "add", ".")
		w.git(rel, "commit", "-q", "-m", "change")
	}
	w.git(rel, "tag", "-a", "-m", "one", "v1")
}

// all returns every object of a repository with its type.
func (w *world) all(rel string) map[string]Type {
	w.t.Helper()
	out := w.git(rel, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	all := map[string]Type{}
	for line := range strings.SplitSeq(out, "\n") {
		id, t, _ := strings.Cut(line, " ")
		all[id] = Type(t)
	}
	return all
}

func mustID(t testing.TB, s string) ID {
	t.Helper()
	id, err := ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func open(t testing.TB, paths, workspaces []string) *Store {
	t.Helper()
	s, err := Open(paths, workspaces)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
