package review

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// world is a project on a host, and the work of one session on it.
type world struct {
	*Work
	t     *testing.T
	state string
	root  string
	store *undo.Store
}

// newWorld makes the project with a shell script. The session begins after that.
func newWorld(t *testing.T, view View, script string) *world {
	t.Helper()
	for _, tool := range []string{"unshare", "mount", "sh", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test needs %s: %v", tool, err)
		}
	}
	unix.Umask(0o022)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { openUp(dir) })
	h := &world{t: t, state: dir + "/state", root: dir + "/project"}
	must(t, os.MkdirAll(h.root, 0o755))
	h.sh(script)
	h.Work = New(h.state, "k3x9ab2c4d")
	h.Project, h.Started = h.root, time.Now()
	h.Add(Tree{Path: h.root, View: view})
	must(t, h.Create())
	h.store, err = undo.Create(h.Undo(), []string{h.root}, undo.Limits{File: 1 << 20, Total: 1 << 24})
	must(t, err)
	return h
}

func openUp(dir string) {
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(p, 0o755)
		}
		return nil
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sh runs a script on the host, in the project.
func (h *world) sh(script string) string {
	h.t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = h.root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.test",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}

// held runs a script in the overlay: what it does waits.
func (h *world) held(script string) {
	h.t.Helper()
	cmd := exec.Command("unshare", "-Urm", "sh", "-euc", `
		mount -t overlay overlay -o userxattr,lowerdir="$1",upperdir="$2",workdir="$3" "$1"
		cd "$1"; eval "$4"`, "sh", h.Trees[0].Path, h.Upper(0), h.Scratch(0), script)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.test",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.test")
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// write does what the keeper does for a file of the live view.
func (h *world) write(rel, text string) {
	h.t.Helper()
	if h.exists(rel) {
		h.save(rel, undo.Write)
	} else {
		must(h.t, h.store.Created(0, rel, false))
	}
	must(h.t, os.WriteFile(filepath.Join(h.root, rel), []byte(text), 0o644))
}

func (h *world) remove(rel string) {
	h.t.Helper()
	h.save(rel, undo.Remove)
	must(h.t, os.Remove(filepath.Join(h.root, rel)))
}

func (h *world) save(rel string, how undo.How) {
	h.t.Helper()
	fd, err := unix.Open(filepath.Dir(filepath.Join(h.root, rel)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(h.t, err)
	defer unix.Close(fd)
	must(h.t, h.store.Save(0, rel, fd, filepath.Base(rel), how))
}

// end ends the session as the run does.
func (h *world) end() {
	h.t.Helper()
	must(h.t, h.store.Close())
	must(h.t, h.End(time.Now(), true))
	h.reopen()
}

// kill ends the session as kill -9 does.
func (h *world) kill() {
	h.t.Helper()
	h.lock.Close()
	h.reopen()
}

func (h *world) reopen() {
	h.t.Helper()
	w, err := Open(h.state, h.ID)
	must(h.t, err)
	h.Work = w
}

func (h *world) review() *Report {
	h.t.Helper()
	r, err := h.Review()
	must(h.t, err)
	return r
}

func (h *world) exists(rel string) bool {
	_, err := os.Lstat(filepath.Join(h.root, rel))
	return err == nil
}

func (h *world) read(rel string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.root, rel))
	must(h.t, err)
	return string(b)
}

// lines is a report in short.
func lines(r *Report) string {
	var b strings.Builder
	for _, e := range r.Entries {
		b.WriteString(strings.Join([]string{e.Rank.String(), string(e.Kind()), string(e.State), e.Path}, " ") + "\n")
	}
	return b.String()
}

func results(out []Outcome) string {
	var b strings.Builder
	for _, o := range out {
		b.WriteString(o.Result + " " + o.Path + "\n")
	}
	return b.String()
}

func find(t testing.TB, r *Report, path string) Entry {
	t.Helper()
	for _, e := range r.Entries {
		if e.Path == path {
			return e
		}
	}
	t.Fatalf("no entry for %q in\n%s", path, lines(r))
	return Entry{}
}

func ranks(t testing.TB, r *Report, want map[string]hostexec.Rank) {
	t.Helper()
	for path, rank := range want {
		if e := find(t, r, path); e.Rank != rank {
			t.Errorf("%s: rank %s (%s), want %s", path, e.Rank, e.Text, rank)
		}
	}
}
