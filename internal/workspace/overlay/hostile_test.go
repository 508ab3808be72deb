package overlay

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// TestPlantedLinks: a symbolic link in a path, on either side, leads nowhere.
func TestPlantedLinks(t *testing.T) {
	w := newWorld(t, tempDir(t), `mkdir dir sub; printf 1 >dir/f; printf 1 >dir/gone; mkdir ../outside; printf safe >../outside/f; printf safe >../outside/gone`)
	w.session(`printf 2 >dir/f; rm dir/gone; printf 2 >dir/new; mkdir -p sub/x; printf 2 >sub/x/f; chmod 700 dir/f`)
	outside := snapshot(t, w.dir+"/outside")
	w.onHost(`rm -rf dir sub; ln -s ../outside dir; ln -s ../outside sub`, "dir", "sub")
	for p, r := range w.apply(nil, nil) {
		if r.Outcome != Conflict && (p != "dir/gone" || r.Outcome != Same) {
			t.Errorf("%q: %+v", p, r)
		}
	}
	if diff := cmp.Diff(outside, snapshot(t, w.dir+"/outside")); diff != "" {
		t.Errorf("something was written outside (-before +after):\n%s", diff)
	}
	if f, err := w.OpenOld("dir/f"); err == nil {
		t.Errorf("OpenOld followed a link to %s", f.Name())
	}
	// The other side: a layer with a link where a directory was listed.
	w.sh(`rm -rf upper/sub; ln -s ../../outside upper/sub`)
	if f, err := w.Open("sub/f"); err == nil {
		t.Errorf("Open followed a link to %s", f.Name())
	}
	for p := range w.apply(nil, nil) {
		if strings.HasPrefix(p, "sub/") {
			t.Errorf("%q is in the layer by way of a link", p)
		}
	}
	if err := w.Discard(nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outside, snapshot(t, w.dir+"/outside")); diff != "" {
		t.Errorf("discard reached outside (-before +after):\n%s", diff)
	}
}

// TestNeverBroughtOver: special files stay in the layer, bits of files too.
func TestNeverBroughtOver(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >was; mkdir d; printf 1 >d/f; printf 1 >mode`)
	w.session(`mkfifo pipe; rm was; mkfifo was; rm -r d; mkfifo d; printf s >suid; chmod 6755 suid; chmod 4644 mode; mkdir -m 1777 sticky`)
	before := snapshot(t, w.Root)
	got := w.apply(nil, w.changes())
	for _, p := range []string{"pipe", "was", "d", "d/f"} {
		if got[p].Outcome != Conflict || got[p].Why == "" {
			t.Errorf("%s: %+v", p, got[p])
		}
	}
	for _, p := range []string{"suid", "mode"} {
		if got[p].Outcome != Applied || !strings.Contains(got[p].Why, "setuid") {
			t.Errorf("%s: %+v", p, got[p])
		}
	}
	after := snapshot(t, w.Root)
	for p, n := range after {
		if n.Type == change.Special || n.Type == change.File && n.Mode&0o7000 != 0 {
			t.Errorf("%q is %v on the host", p, n)
		}
	}
	if after["was"] != before["was"] || after["d/f"] != before["d/f"] || after["suid"].Mode != 0o755 || after["sticky"].Mode != 0o1777 {
		t.Errorf("the host has %v", after)
	}
}

// TestForeignMarks: content that is elsewhere is refused, with its path.
func TestForeignMarks(t *testing.T) {
	for _, mark := range foreign {
		for _, what := range []string{"dir", "dir/file"} {
			w := newWorld(t, tempDir(t), `mkdir dir`)
			w.session(`printf 1 >dir/file`)
			if err := unix.Lsetxattr(w.Upper+"/"+what, mark, []byte("x"), 0); err != nil {
				t.Fatal(err)
			}
			if all, err := w.Changes(); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), mark) {
				t.Errorf("%s at %s: %v, %v", mark, what, all, err)
			}
			if _, err := w.Apply(w.log, nil, nil); err == nil {
				t.Errorf("%s at %s was applied", mark, what)
			}
			if err := w.Discard(nil); err != nil {
				t.Error(err)
			}
			w.emptied()
		}
	}
}

// TestOtherWhiteouts: the form of a whiteout that needs no device.
func TestOtherWhiteouts(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >f; mkdir d; printf 1 >d/g`)
	for _, name := range []string{"f", "d"} {
		if err := os.WriteFile(w.Upper+"/"+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setxattr(w.Upper+"/"+name, xattrWhiteout, []byte("y"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := describe(w.changes()); got != "deleted \"d\"\ndeleted \"d/g\"\ndeleted \"f\"\n" {
		t.Error(got)
	}
	w.noConflicts(w.apply(nil, nil))
	w.looks(map[string]change.Node{})
}

// TestUnreadable: a file that an ordinary user may not read is shown all the same.
func TestUnreadable(t *testing.T) {
	w := newWorld(t, tempDir(t), `mkdir d`)
	w.sh(`cd upper; printf 1 >f; chmod 0 f; mkdir e; printf 2 >e/g; chmod 0 e`)
	said := w.changes()
	if len(said) != 3 || said[2].New.Hash == "" {
		t.Errorf("changes: %s", describe(said))
	}
	w.noConflicts(w.apply(nil, said))
	if n := len(w.changes()); n != 0 {
		t.Errorf("%d changes wait", n)
	}
}

// dig makes a directory that is deeper than any path.
func dig(t *testing.T, dir string) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	name := strings.Repeat("x", 200)
	for i := 0; i < 50 && err == nil; i++ {
		if err = unix.Mkdirat(fd, name, 0o755); err == nil {
			var sub int
			sub, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			unix.Close(fd)
			fd = sub
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(fd)
}

// TestHostUnreadable: a file of the host that cannot be read is never overwritten
// unless the host left it alone.
func TestHostUnreadable(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >old; printf 1 >new; printf 1 >gone; chmod 0 old gone`)
	w.Base = func(string) ([]byte, bool) { return []byte("1"), true }
	w.session(`printf 2 >old; printf 2 >new; rm -f gone; chmod 600 old new`)
	w.onHost(`chmod 600 new; printf 3 >new; chmod 0 new`, "new")
	got := w.apply(nil, nil)
	if got["old"].Outcome != Applied || got["new"].Outcome != Conflict || got["gone"].Outcome != Applied {
		t.Errorf("%v", got)
	}
}

// TestDeep: directories beyond any path are reported, and can be forgotten.
func TestDeep(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >f`)
	dig(t, w.Upper)
	got := w.apply(nil, w.changes())
	conflicts := 0
	for _, r := range got {
		if r.Outcome == Conflict {
			conflicts++
		}
	}
	if conflicts == 0 || len(got) < 20 {
		t.Errorf("%d conflicts of %d", conflicts, len(got))
	}
	if err := w.Discard(nil); err != nil {
		t.Fatal(err)
	}
	w.emptied()
}

// TestSparse: a huge file of nothing is neither read into memory nor spelled out.
func TestSparse(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >f`)
	w.sh(`cd upper; truncate -s 30M big; printf end >>big; truncate -s 100M big`)
	w.noConflicts(w.apply(nil, nil))
	info, err := os.Stat(w.Root + "/big")
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Size != 100<<20 || st.Blocks > 1<<12 {
		t.Errorf("%d bytes in %d blocks", st.Size, st.Blocks)
	}
}

// TestMountOnHost: a mount in the tree is never crossed.
func TestMountOnHost(t *testing.T) {
	if os.Getenv("LAYER_TEST_MOUNT") == "" {
		cmd := exec.Command("unshare", "-Urm", os.Args[0], "-test.run=^TestMountOnHost$", "-test.count=1")
		cmd.Env = append(os.Environ(), "LAYER_TEST_MOUNT=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	w := newWorld(t, tempDir(t), `mkdir m n; printf 1 >m/f; printf 1 >bound; printf 1 >n/g`)
	w.session(`printf 2 >m/f; printf 2 >bound; rm -r n`)
	w.sh(`mount -t tmpfs tmpfs root/m; printf mounted >root/m/f; mount -t tmpfs tmpfs root/n; printf other >other; mount --bind other root/bound`)
	got := w.apply(nil, nil)
	for _, p := range []string{"m/f", "bound", "n"} {
		if got[p].Outcome != Conflict {
			t.Errorf("%s: %+v", p, got[p])
		}
	}
	if w.read("m/f") != "mounted" || w.read("bound") != "other" {
		t.Error("something was written through a mount")
	}
	w.sh(`umount root/m root/n root/bound`)
}

// TestPaths: no path leads out of the tree.
func TestPaths(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >f`)
	w.session(`printf 2 >f; mkdir '..x'; printf 1 >'..x/..y'`)
	for _, p := range []string{"", "..", "../x", "/", "/f", "nothing", "f/x", "x/../.."} {
		if got := w.apply([]string{p}, nil); len(got) != 0 {
			t.Errorf("%q: %v", p, got)
		}
	}
	if got := w.apply([]string{"./..x/"}, nil); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := w.apply([]string{"."}, nil); len(got) != 1 {
		t.Errorf("%v", got)
	}
	for _, root := range []string{"relative", "", w.dir + "/nothing"} {
		if _, err := (&Layer{Root: root, Upper: w.Upper}).Changes(); err == nil {
			t.Errorf("%q is no tree", root)
		}
	}
	if err := os.Symlink(w.Root, w.dir+"/alias"); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Layer{Root: w.dir + "/alias", Upper: w.Upper}).Changes(); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a root by way of a link: %v", err)
	}
}

// TestHandsOff: a rename that fails leaves no temporary file.
func TestHandsOff(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >f; mkdir d; printf 1 >d/x`)
	w.session(`printf 2 >f; printf 2 >new; rm -r d; printf 2 >d`)
	steps := 0
	defer func() { beforeWrite = func() {} }()
	beforeWrite = func() {
		// Right before the last look at each file, the host writes it.
		if temps, _ := filepath.Glob(w.Root + "/" + tempPrefix + "*"); len(temps) > 0 && steps == 0 {
			steps++
			for _, name := range []string{"f", "new"} {
				if err := os.WriteFile(w.Root+"/"+name, []byte("host"), 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}
	got := w.apply(nil, nil)
	if got["f"].Outcome != Conflict || got["new"].Outcome != Conflict || got["d"].Outcome != Applied {
		t.Errorf("%v", got)
	}
	if w.read("f") != "host" || w.read("new") != "host" || w.read("d") != "2" {
		t.Error("the host lost what it wrote")
	}
	if temps, _ := filepath.Glob(w.Root + "/" + tempPrefix + "*"); len(temps) > 0 {
		t.Errorf("left behind: %q", temps)
	}
}

func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t, tempDir(t), `printf 1 >f`)
	w.session(`printf 2 >f`)
	j, err := openLog(w.log, w.Layer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Apply(w.log, nil, nil); err == nil || !strings.Contains(err.Error(), "another apply") {
		t.Errorf("a second one: %v", err)
	}
	j.close()
	other := *w.Layer
	other.Upper = w.dir + "/elsewhere"
	if err := os.Mkdir(other.Upper, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Apply(w.log, nil, nil); err == nil || !strings.Contains(err.Error(), "another layer") {
		t.Errorf("with the log of another layer: %v", err)
	}
	w.noConflicts(w.apply(nil, nil))
	if got := fmt.Sprint(w.read("f")); got != "2" {
		t.Error(got)
	}
}
