package overlay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// testingT is what testing.T and rapid.T share.
type testingT interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// world is a tree of the host and a layer over it.
type world struct {
	*Layer
	t   testingT
	dir string
	log string
}

// newWorld makes the tree with a shell script. The session begins after that.
func newWorld(t testingT, dir, script string) *world {
	t.Helper()
	for _, tool := range []string{"unshare", "mount", "cp", "sh"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test needs %s: %v", tool, err)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, log: dir + "/log", Layer: &Layer{Root: dir + "/root", Upper: dir + "/upper"}}
	w.sh("mkdir root upper; cd root; " + script)
	w.Since = time.Now()
	return w
}

// sh runs a script on the host, in the directory of the world.
func (w *world) sh(script string) {
	w.t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// session runs a script in the mounted overlay, and returns what it looked like then.
func (w *world) session(script string) map[string]change.Node {
	w.t.Helper()
	w.sh("if [ -e view ]; then chmod -R u+rwx view; rm -rf view; fi; mkdir work mnt view")
	cmd := exec.Command("unshare", "-Urm", "sh", "-euc", `
		mount -t overlay overlay -o userxattr,lowerdir=root,upperdir=upper,workdir=work mnt
		(cd mnt; eval "$1")
		cp -a mnt/. view
		umount mnt
		chmod -R u+rwx work
		rm -rf work mnt`, "sh", script)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return snapshot(w.t, w.dir+"/view")
}

// onHost changes the host so that its clock shows it.
func (w *world) onHost(script string, paths ...string) {
	w.t.Helper()
	for range 1000 {
		w.sh("cd root; " + script)
		late := true
		for _, p := range paths {
			var st unix.Stat_t
			if err := unix.Lstat(w.Root+"/"+p, &st); err != nil {
				w.t.Fatal(err)
			}
			late = late && w.touched(&st)
		}
		if late {
			return
		}
	}
	w.t.Fatal("the clock of the filesystem stands still")
}

// snapshot reads a whole tree, by other means than the package does.
func snapshot(t testingT, root string) map[string]change.Node {
	t.Helper()
	out := map[string]change.Node{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		n := change.Node{Type: change.Special, Mode: info.Sys().(*syscall.Stat_t).Mode & 0o7777}
		switch info.Mode().Type() {
		case fs.ModeDir:
			n.Type = change.Directory
		case fs.ModeSymlink:
			n.Type = change.Symlink
			n.Link, err = os.Readlink(path)
		case 0:
			var b []byte
			b, err = os.ReadFile(path)
			sum := sha256.Sum256(b)
			n.Type, n.Size, n.Hash = change.File, int64(len(b)), hex.EncodeToString(sum[:])
		}
		out[path[len(root)+1:]] = n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// differences compares two snapshots: what Changes has to say, renames aside. All files of
// these tests hold ASCII.
func differences(old, new map[string]change.Node) []change.Change {
	var out []change.Change
	for p, n := range old {
		if m, ok := new[p]; !ok {
			out = append(out, change.Change{Path: p, Old: &n})
		} else if m != n {
			out = append(out, change.Change{Path: p, Old: &n, New: &m, Plain: m.Type == change.File})
		}
	}
	for p, n := range new {
		if _, ok := old[p]; !ok {
			out = append(out, change.Change{Path: p, New: &n, Plain: n.Type == change.File})
		}
	}
	slices.SortFunc(out, change.Compare)
	return out
}

func (w *world) changes() []change.Change {
	w.t.Helper()
	all, err := w.Changes()
	if err != nil {
		w.t.Fatal(err)
	}
	empty, err := w.Empty()
	if err != nil {
		w.t.Fatal(err)
	}
	if empty != (len(all) == 0) {
		w.t.Errorf("Empty says %v of %s", empty, describe(all))
	}
	return all
}

func (w *world) apply(paths []string, said []change.Change) map[string]Result {
	w.t.Helper()
	results, err := w.Apply(w.log, paths, said)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := os.Lstat(w.log); err == nil {
		w.t.Errorf("the log is still there")
	}
	out := map[string]Result{}
	for _, r := range results {
		if _, twice := out[r.Path]; twice {
			w.t.Errorf("%q has two results", r.Path)
		}
		out[r.Path] = r
	}
	return out
}

// noConflicts checks that every result is a good one.
func (w *world) noConflicts(results map[string]Result) {
	w.t.Helper()
	for _, r := range results {
		if r.Outcome != Applied {
			w.t.Errorf("%q: %s, %s", r.Path, r.Outcome, r.Why)
		}
	}
}

// looks checks what the host looks like, and that nothing else is left anywhere.
func (w *world) looks(want map[string]change.Node) {
	w.t.Helper()
	if diff := cmp.Diff(want, snapshot(w.t, w.Root)); diff != "" {
		w.t.Fatalf("the host (-want +got):\n%s", diff)
	}
	if rest := w.changes(); len(rest) > 0 {
		w.t.Fatalf("still waiting: %s", describe(rest))
	}
}

// emptied checks that nothing at all is left in the layer.
func (w *world) emptied() {
	w.t.Helper()
	if left := slices.Sorted(maps.Keys(snapshot(w.t, w.Upper))); len(left) > 0 {
		w.t.Errorf("left in the layer: %q", left)
	}
}

func describe(all []change.Change) string {
	var out strings.Builder
	for _, c := range all {
		fmt.Fprintf(&out, "%s %q", c.Kind(), c.Path)
		if c.From != "" {
			fmt.Fprintf(&out, " from %q", c.From)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func tempDir(t *testing.T) string {
	dir := t.TempDir()
	t.Cleanup(func() { removeAll(dir) })
	return dir
}

// removeAll removes a directory, and what is in one that lets nobody in.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	exec.Command("chmod", "-R", "u+rwx", dir).Run()
	os.RemoveAll(dir)
}

const tree1 = `
	mkdir -p src/deep old/sub empty .git/objects .git/refs/heads; printf one >src/one; printf two >src/deep/two
	printf three >old/three; printf four >old/sub/four; ln -s src/one link; printf script >run; chmod 755 run
	printf hard >h1; ln h1 h2; printf ref: >.git/HEAD; printf abc >.git/refs/heads/main; printf keep >keep`

func TestChanges(t *testing.T) {
	w := newWorld(t, tempDir(t), tree1)
	before := snapshot(t, w.Root)
	view := w.session(`
		printf more >>src/one; rm src/deep/two; printf new >added; rm -rf old; mkdir old; printf other >old/other
		mkdir d; mv keep d/kept; chmod 700 run; ln -sf nowhere link; touch h1; rm -r empty; mkdir -m 750 dir
		printf x >"$(printf 'bad\377name')"; printf y >'new
line'; mkfifo pipe; printf z >h2`)
	var got, want []string
	for _, c := range w.changes() {
		line := fmt.Sprintf("%s %s", c.Kind(), c.Path)
		if c.From != "" {
			line += " < " + c.From
		}
		got = append(got, line)
	}
	want = []string{"added added", "added bad\xffname", "added d", "renamed d/kept < keep", "added dir", "deleted empty",
		"changed h2", "changed link", "added new\nline", "added old/other", "deleted old/sub", "deleted old/sub/four",
		"deleted old/three", "added pipe", "mode run", "deleted src/deep/two", "changed src/one"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(foldRenames(differences(before, view)), w.changes()); diff != "" {
		t.Errorf("changes (-naive +got):\n%s", diff)
	}
	f, err := w.Open("src/one")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b bytes.Buffer
	if b.ReadFrom(f); b.String() != "onemore" {
		t.Errorf("the new side is %q", &b)
	}
	for _, rel := range []string{"", ".", "..", "../log", "/etc/passwd", "link", "pipe", "src", "keep", "src//one", "a/../b"} {
		if f, err := w.Open(rel); err == nil {
			t.Errorf("Open(%q) opened %s", rel, f.Name())
		}
	}
}

// TestChangesOfARunningSession: to look does not disturb.
// TestPlain: what is not ASCII to its end is never called so.
func TestPlain(t *testing.T) {
	w := newWorld(t, t.TempDir(), "printf x >old; printf 'x\\303' >was")
	w.session(`printf x >ascii; printf '12345678\303\244' >late; printf '\377' >byte; printf 'y\303' >old; printf y >was; ln -s ascii link; mkdir d`)
	got := map[string]bool{}
	for _, c := range w.changes() {
		got[c.Path] = c.Plain
	}
	want := map[string]bool{"ascii": true, "late": false, "byte": false, "old": false, "was": true, "link": false, "d": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChangesOfARunningSession(t *testing.T) {
	w := newWorld(t, tempDir(t), tree1)
	w.sh("mkdir work mnt")
	cmd := exec.Command("unshare", "-Urm", "sh", "-euc", `
		mount -t overlay overlay -o userxattr,lowerdir=root,upperdir=upper,workdir=work mnt
		printf 1 >mnt/a; rm -r mnt/old; exec 3>mnt/open; printf 1 >&3; echo ready; read line
		printf 2 >mnt/a; printf 2 >&3; cat mnt/a mnt/open; exec 3>&-; umount mnt; chmod -R u+rwx work`)
	cmd.Dir = w.dir
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, 6)
	if _, err := io.ReadFull(out, ready); err != nil {
		t.Fatal(err)
	}
	if got := len(w.changes()); got != 6 {
		t.Errorf("%d changes: %s", got, describe(w.changes()))
	}
	fmt.Fprintln(in)
	rest, _ := io.ReadAll(out)
	if err := cmd.Wait(); err != nil || string(rest) != "212" {
		t.Errorf("the session went on with %q, %v", rest, err)
	}
}

func TestApplyAll(t *testing.T) {
	w := newWorld(t, tempDir(t), tree1)
	view := w.session(`
		printf more >>src/one; rm src/deep/two; printf new >added; rm -rf old; mkdir old; printf other >old/other
		mkdir d; mv keep d/kept; chmod 700 run; ln -sf nowhere link; touch h1; rm -r empty; mkdir -m 750 dir
		printf x >"$(printf 'bad\377name')"; printf y >'new
line'; printf z >h2; rm -r src/deep; printf file >src/deep; rm h1; mkdir h1; printf in >h1/in; mv old/other .git/HEAD
		touch -d 2001-02-03 added; chmod 555 d`)
	said := w.changes()
	w.noConflicts(w.apply(nil, said))
	w.looks(view)
	w.emptied()
	if info, err := os.Stat(w.Root + "/added"); err != nil || info.ModTime().Year() != 2001 {
		t.Errorf("the time of a file did not come along: %v %v", info.ModTime(), err)
	}
}
