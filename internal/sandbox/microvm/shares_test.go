package microvm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// layered is a session that shows a workspace under a layer.
func layered(t *testing.T) (session *plan.Plan, work, upper string) {
	t.Helper()
	work, upper = filepath.Join(t.TempDir(), "work"), filepath.Join(t.TempDir(), "upper")
	for _, dir := range []string{work, upper, work + "/sub", upper + "/sub"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	session = &plan.Plan{Process: plan.Process{Dir: plan.Raw(work)}, Ops: []plan.Op{
		{Do: plan.DoTmpfs, Dst: "/tmp", Size: 1 << 20, Mode: 0o755},
		{Do: plan.DoLayer, Dst: plan.Raw(work), Src: plan.Raw(work), Upper: plan.Raw(upper), Work: "/none"},
	}}
	return session, work, upper
}

func put(t *testing.T, at, text string) {
	t.Helper()
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestShareHides: what a layer covers cannot be read from where the emulator stands, also when
// the host has saved it anew, made a directory of it or put another directory above it.
func TestShareHides(t *testing.T) {
	session, work, upper := layered(t)
	for _, at := range []string{"sub/.env", "link", "dir", "saved", "away"} {
		put(t, filepath.Join(upper, at), "phantom")
	}
	for _, dir := range []string{work, upper} {
		put(t, dir+"/same", "ready for its owner")
	}
	put(t, work+"/plain", "plain")
	put(t, work+"/sub/.env", "secret")
	put(t, work+"/saved", "secret")
	put(t, work+"/other", "secret")
	put(t, work+"/hidden", "secret")
	if err := errors.Join(os.Symlink("other", work+"/link"), os.Mkdir(work+"/dir", 0o700)); err != nil {
		t.Fatal(err)
	}
	put(t, work+"/dir/key", "secret")
	session.Ops = append(session.Ops, plan.Op{Do: plan.DoMask, Dst: plan.Raw(work + "/hidden")})
	j, err := raiseJail(t, session)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"/sub/.env", "/link", "/dir/key", "/dir", "/saved", "/hidden"}
	hidden := func(when string) {
		t.Helper()
		for _, at := range names {
			if said := j.ask("read", work+at); strings.Contains(said, "secret") {
				t.Errorf("%s: %s is read: %q", when, at, said)
			}
		}
	}
	if said := j.ask("read", work+"/plain"); said != "plain" {
		t.Fatalf("the control: %q", said)
	}
	hidden("at the start")
	for _, at := range []string{"/saved", "/sub/.env", "/hidden", "/away", "/same"} {
		put(t, work+at+".tmp", "secret, saved anew")
		if err := os.Rename(work+at+".tmp", work+at); err != nil {
			t.Fatal(err)
		}
	}
	names = append(names, "/away", "/same") // nobody has asked for them before, so no kernel remembers them
	hidden("saved anew")
	if err := errors.Join(os.Rename(work+"/sub", work+"/before"), os.Mkdir(work+"/sub", 0o700)); err != nil {
		t.Fatal(err)
	}
	put(t, work+"/sub/.env", "secret, in another directory")
	hidden("another directory")
	if said := j.ask("write", work+"/new"); !strings.Contains(said, "read-only file system") {
		t.Errorf("a share is written to: %q", said)
	}
}

// TestShareSocket: a server of the host whose socket lies in the workspace is not reached.
func TestShareSocket(t *testing.T) {
	session, work, _ := layered(t)
	l, err := net.Listen("unix", work+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if c, err := net.Dial("unix", work+"/s"); err != nil {
		t.Fatalf("the control: %v", err)
	} else {
		c.Close()
	}
	j, err := raiseJail(t, session)
	if err != nil {
		t.Fatal(err)
	}
	if said := j.ask("connect", work+"/s"); !strings.Contains(said, "refused") {
		t.Errorf("%q", said)
	}
	if said := j.ask("list", work); said != "s sub" {
		t.Errorf("the control: %q", said)
	}
}

// TestShareSubmount: what is mounted below the workspace is no part of the view, and is not
// shown: there is no machine then, and it is said why.
func TestShareSubmount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts something")
	}
	session, work, _ := layered(t)
	if err := unix.Mount("none", work+"/sub", "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(work+"/sub", unix.MNT_DETACH) })
	put(t, work+"/sub/file", "secret")
	j, err := raiseJail(t, session)
	if err == nil {
		t.Fatalf("it is shown: %q", j.ask("list", work+"/sub"))
	}
	if !strings.Contains(err.Error(), work+"/sub") || rung.FailedAt(err, rung.StepLayer) {
		t.Errorf("%v", err)
	}
}

// TestShareCache: what is hidden in a cache is hidden in each of the directories that it is made of.
func TestShareCache(t *testing.T) {
	session, _, _ := layered(t)
	own, ready := t.TempDir(), t.TempDir()
	for _, dir := range []string{own, ready} {
		for _, name := range []string{"token", "settings", "plain"} {
			put(t, filepath.Join(dir, name), "secret")
		}
	}
	session.Ops = append(session.Ops, plan.Op{Do: plan.DoCache, Dst: "/home/u/go", Src: plan.Raw(own), Upper: "/none", Work: "/none", Lower: []plan.Raw{plan.Raw(ready)}},
		plan.Op{Do: plan.DoMask, Dst: "/home/u/go/token"}, plan.Op{Do: plan.DoFile, Dst: "/home/u/go/settings"})
	j, err := raiseJail(t, session)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		at := string(lowerAt("/home/u/go", n))
		for name, want := range map[string]string{"token": "", "settings": "", "plain": "secret"} {
			if said := j.ask("read", at+"/"+name); said != want {
				t.Errorf("%s of %d: %q", name, n, said)
			}
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(own, &st); err != nil {
		t.Fatal(err)
	}
	session.Ops[2].ID = &plan.Identity{Dev: st.Dev, Ino: st.Ino + 1}
	if _, err := raiseJail(t, session); err == nil || !strings.Contains(err.Error(), "replaced meanwhile") {
		t.Errorf("another directory: %v", err)
	}
}

// TestShareMany: the share has room for as much as a session shows, and hides as much as a review
// makes ready.
func TestShareMany(t *testing.T) {
	session, _, upper := layered(t)
	for n := range 20000 {
		put(t, fmt.Sprintf("%s/sub/%d", upper, n), "")
	}
	session.Ops = append(session.Ops, plan.Op{Do: plan.DoTmpfs, Dst: "/home/u", Size: 1 << 20, Mode: 0o755})
	src := plan.Raw(t.TempDir())
	for n := range 300 {
		session.Ops = append(session.Ops, plan.Op{Do: plan.DoBind, Dst: plan.Raw(fmt.Sprintf("/home/u/a/%d/b/c", n)), Src: src})
	}
	j, err := raiseJail(t, session)
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Fields(j.ask("list", "/home/u/a")); len(said) != 300 {
		t.Errorf("%d are there", len(said))
	}
}

// TestNotBelowDev: what lies where the guest has its own files is refused by its name.
func TestNotBelowDev(t *testing.T) {
	for _, at := range []plan.Raw{"/dev/shm/work", "/proc/work"} {
		for _, do := range []plan.Do{plan.DoLayer, plan.DoBind, plan.DoCache} {
			_, err := Place{}.plan(&plan.Plan{Ops: []plan.Op{{Do: plan.DoDevice, Dst: "/dev/null", Src: "/dev/null"}, {Do: do, Dst: at, Src: at}}})
			if err == nil || !strings.Contains(err.Error(), string(at)) {
				t.Errorf("%s %s: %v", do, at, err)
			}
		}
	}
}
