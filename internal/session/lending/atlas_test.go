package lending

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// A file is seen in a tree by whatever way it is led to: in it, by a link of its
// directory, by a link of its own, by a bind mount of either.
func TestSightings(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{root}, names...)...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{"tree/codex", "home/bound", "home/plain", "beside"} {
		must(os.MkdirAll(at(d), 0o755))
	}
	for _, f := range []string{"tree/codex/auth.json", "home/plain/auth.json", "home/one.json"} {
		must(os.WriteFile(at(f), []byte("x"), 0o600))
	}
	must(os.Symlink("../tree/codex", at("home/linked")))
	must(os.Symlink("linked", at("home/twice")))
	must(os.Symlink("../tree/codex/auth.json", at("home/file.json")))
	must(os.Symlink("../../tree/codex/later.json", at("home/plain/later.json")))
	want := map[string]string{
		"home/linked/auth.json": "codex/auth.json", "home/twice/auth.json": "codex/auth.json", "home/file.json": "codex/auth.json", "tree/codex/auth.json": "codex/auth.json",
		"home/plain/later.json": "codex/later.json", "home/linked/absent.json": "codex/absent.json", "home/plain/auth.json": "", "home/nowhere/auth.json": "", "beside/auth.json": "",
		// What somebody is going to make, and a link in the tree that leads out of it again.
		"home/dangling/auth.json": "new/deep/auth.json", "home/around/auth.json": "out", "home/updown/auth.json": "codex/auth.json",
	}
	absent := map[string]int{"home/plain/later.json": 1, "home/linked/absent.json": 1, "home/dangling/auth.json": 3}
	must(os.Symlink(at("tree/new/deep"), at("home/dangling")))
	must(os.Symlink("../home/plain", at("tree/out")))
	must(os.Symlink("../tree/out", at("home/around")))
	must(os.Symlink("linked/../../tree/./codex", at("home/updown")))
	runtime.LockOSThread() // and never unlocked: the thread ends with the test, and its mounts with it
	if os.Geteuid() == 0 && unix.Unshare(unix.CLONE_FS|unix.CLONE_NEWNS) == nil {
		must(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		must(unix.Mount(at("tree/codex"), at("home/bound"), "", unix.MS_BIND, ""))
		must(unix.Mount(at("tree/codex/auth.json"), at("home/one.json"), "", unix.MS_BIND, ""))
		defer unix.Unmount(at("home/bound"), unix.MNT_DETACH)
		defer unix.Unmount(at("home/one.json"), unix.MNT_DETACH)
		want["home/bound/auth.json"], want["home/one.json"] = "codex/auth.json", "codex/auth.json"
	}
	a, err := readAtlas()
	must(err)
	windows := a.windows([]plan.Mount{{Src: at("tree"), Dst: "/inside"}})
	for path, rel := range want {
		var got []string
		for _, s := range a.sightings(at(path), windows) {
			got = append(got, s.at)
			if s.absent != absent[path] {
				t.Errorf("%s: %d names are not there", path, s.absent)
			}
		}
		var wanted []string
		if rel != "" {
			wanted = []string{"/inside/" + rel}
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%s is seen at %q, want %q", path, got, wanted)
		}
	}
}
