package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fixture is a cgroup tree of plain files with the layout of the real one.
type fixture struct {
	system
	t    *testing.T
	root string
}

func newFixture(t *testing.T, ownGroup string) *fixture {
	f := &fixture{t: t, root: t.TempDir()}
	f.proc = filepath.Join(f.root, "proc")
	f.booted = filepath.Join(f.root, "booted")
	f.mkdir, f.rmdir = f.makeGroup, f.removeGroup
	f.file("proc/self/cgroup", "0::"+ownGroup+"\n")
	f.file("proc/self/uid_map", "0 0 4294967295\n")
	f.file("proc/self/mountinfo", "30 24 0:26 / "+f.root+"/cg rw,nosuid - cgroup2 cgroup2 rw\n")
	return f
}

func (f *fixture) file(name, text string) {
	f.t.Helper()
	p := filepath.Join(f.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) text(name string) string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.root, name))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// group makes one group with its controllers, those it hands on, and its pids.
func (f *fixture) group(name, has, on, procs string) {
	f.file("cg"+name+"/cgroup.controllers", has+"\n")
	f.file("cg"+name+"/cgroup.subtree_control", on)
	f.file("cg"+name+"/cgroup.procs", procs)
	if name != "" {
		f.file("cg"+name+"/cgroup.type", "domain\n")
	}
}

// makeGroup does what the kernel does on mkdir: only controllers that the parent
// hands on get their files.
func (f *fixture) makeGroup(dir string) error {
	on, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	files := []string{"cgroup.procs", "cgroup.kill"}
	if strings.Contains(string(on), "pids") {
		files = append(files, "pids.max", "pids.events")
	}
	if strings.Contains(string(on), "memory") {
		files = append(files, "memory.max", "memory.swap.max", "memory.events")
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (f *fixture) removeGroup(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), "ringfence-") {
		return errors.New("that is not ours to remove")
	}
	return os.RemoveAll(dir)
}

func (f *fixture) open(want Limits) (*Group, Report) {
	f.t.Helper()
	g, r, err := f.system.open("s1", want)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { g.Close() })
	return g, r
}

func TestV2Places(t *testing.T) {
	const all = "cpu memory pids"
	both := Limits{Pids: 100, Memory: 1 << 30}
	for _, c := range []struct {
		name string
		own  string
		make func(*fixture)
		dir  string // where the group is to be made; "" for nowhere
		why  string
	}{
		{"the real root", "/", func(f *fixture) { f.group("", all, "memory pids", "1\n") }, "", ""},
		{"the real root, to be switched on", "/", func(f *fixture) { f.group("", all, "", "1\n") }, "", ""},
		{"the real root is systemd's", "/", func(f *fixture) {
			f.group("", all, "memory pids", "1\n")
			f.file("booted/x", "")
		}, "-", "systemd's own"},
		{"the top of a container", "/", func(f *fixture) {
			f.group("", all, "", "1\n")
			f.file("cg/cgroup.type", "domain\n")
		}, "-", "has processes"},
		{"a leaf in a delegated subtree", "/d/leaf", func(f *fixture) {
			f.group("/d", all, "memory pids", "")
			f.group("/d/leaf", "memory pids", "", "1\n")
		}, "/d", ""},
		{"a leaf, controllers to be switched on", "/d/leaf", func(f *fixture) {
			f.group("/d", all, "", "")
			f.group("/d/leaf", "", "", "1\n")
		}, "/d", ""},
		{"a terminal in a slice", "/app.slice/term.scope", func(f *fixture) {
			f.group("/app.slice", all, "memory pids", "")
			f.group("/app.slice/term.scope", "memory pids", "", "1\n")
		}, "-", "systemd's own"},
		{"a group with processes", "/d", func(f *fixture) {
			f.group("", "", "", "")
			f.group("/d", all, "", "1\n")
		}, "-", "controller not available"},
		{"no delegation", "/d", func(f *fixture) { f.file("cg/d/x", "") }, "-", "not delegated"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			f := newFixture(t, c.own)
			c.make(f)
			g, r := f.open(both)
			if c.dir == "-" {
				if r.Memory.Enforced() || !strings.Contains(r.Memory.Why, c.why) || len(g.parts) != 0 {
					t.Errorf("report %+v", r)
				}
				return
			}
			if r.Pids.By != V2 || r.Memory.By != V2 {
				t.Fatalf("report %+v", r)
			}
			dir := "cg" + c.dir + "/ringfence-s1/"
			f.wants(dir+"pids.max", "100")
			f.wants(dir+"memory.max", "1073741824")
			f.wants(dir+"memory.swap.max", "0")
			if err := g.Join(4242); err != nil {
				t.Error(err)
			}
			f.wants(dir+"cgroup.procs", "4242")
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			assertGone(t, []string{filepath.Join(f.root, dir)})
		})
	}
}

func (f *fixture) wants(name, text string) {
	f.t.Helper()
	if got := f.text(name); got != text {
		f.t.Errorf("%s holds %q, want %q", name, got, text)
	}
}

func TestV2SwitchesOnWhatIsMissing(t *testing.T) {
	f := newFixture(t, "/d/leaf")
	f.group("/d", "cpu memory pids", "pids", "")
	f.group("/d/leaf", "pids", "", "1\n")
	f.open(Limits{Pids: 5, Memory: 5})
	f.wants("cg/d/cgroup.subtree_control", "+memory")
}

func TestV2WithOneControllerOnly(t *testing.T) {
	f := newFixture(t, "/d/leaf")
	f.group("/d", "pids", "pids", "")
	f.group("/d/leaf", "pids", "", "1\n")
	_, r := f.open(Limits{Pids: 9, Memory: 1 << 20})
	if r.Pids.By != V2 || r.Memory.Enforced() || !strings.Contains(r.Memory.Why, "cgroup v2: controller not available") {
		t.Errorf("report %+v", r)
	}
}

func TestEventsOfV2(t *testing.T) {
	f := newFixture(t, "/d/leaf")
	f.group("/d", "memory pids", "memory pids", "")
	f.group("/d/leaf", "memory pids", "", "1\n")
	g, _ := f.open(Limits{Pids: 9, Memory: 1 << 20})
	f.file("cg/d/ringfence-s1/memory.events", "low 0\nhigh 0\nmax 77\noom 4\noom_kill 3\noom_group_kill 0\n")
	f.file("cg/d/ringfence-s1/pids.events", "max 5\n")
	if e := g.Events(); e != (Events{OOMKills: 3, Limit: true, Refused: 5}) {
		t.Errorf("events %+v", e)
	}
	// Killed in a group that had memory left: it was the machine's that was gone.
	f.file("cg/d/ringfence-s1/memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 3\noom_group_kill 0\n")
	if e := g.Events(); e != (Events{OOMKills: 3, Refused: 5}) {
		t.Errorf("events %+v", e)
	}
}

// A group that somebody else made for a process is read as our own are, unless it is ours.
func TestEventsOfAProcess(t *testing.T) {
	f := newFixture(t, "/d/leaf")
	f.file("proc/77/cgroup", "0::/engine/c\n")
	f.file("proc/78/cgroup", "0::/d/leaf\n")
	f.file("proc/79/cgroup", "0::/../outside\n")
	for _, dir := range []string{"engine/c", "d/leaf"} {
		f.file("cg/"+dir+"/memory.events", "oom 1\noom_kill 1\n")
		f.file("cg/"+dir+"/pids.events", "max 2\n")
	}
	for pid, want := range map[int]Events{77: {OOMKills: 1, Limit: true, Refused: 2}, 78: {}, 79: {}, 80: {}} {
		if e := f.groupsOf(pid).Events(); e != want {
			t.Errorf("%d: %+v", pid, e)
		}
	}
}

// What there is for us is bounded by every group around us.
func TestLent(t *testing.T) {
	f := newFixture(t, "/d/leaf")
	f.group("/d", "memory pids", "memory pids", "")
	f.group("/d/leaf", "memory pids", "", "1\n")
	if n := f.lent(); n != 0 {
		t.Errorf("%d without any bound", n)
	}
	f.file("cg/d/memory.max", "4096\n")
	f.file("cg/d/leaf/memory.max", "max\n")
	if n := f.lent(); n != 4096 {
		t.Errorf("%d, want that of the group above", n)
	}
	f.file("cg/d/leaf/memory.max", "2048\n")
	if n := f.lent(); n != 2048 {
		t.Errorf("%d, want our own", n)
	}
	if Machine() <= 0 {
		t.Error("this machine has no memory")
	}
}

func TestNothingWantedNothingMade(t *testing.T) {
	f := newFixture(t, "/")
	f.group("", "memory pids", "memory pids", "1\n")
	g, r := f.open(Limits{})
	if r != (Report{}) || g.janitor != nil {
		t.Errorf("report %+v, group %+v", r, g)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, name := range []string{"", "../x", "a/b", "A", "x.scope", strings.Repeat("a", 65), "a\n"} {
		if _, _, err := Open(name, Limits{}); err == nil {
			t.Errorf("session %q accepted", name)
		}
	}
	if _, _, err := Open("a", Limits{Pids: -1}); err == nil {
		t.Error("negative limit accepted")
	}
}

// The rlimit is offered to whom it binds: with the map of an ordinary
// container's user namespace even root is bound.
func TestRlimitIsTheLastResort(t *testing.T) {
	f := newFixture(t, "/")
	f.file("proc/self/cgroup", "0::/\n")
	f.file("proc/self/mountinfo", "1 1 0:1 / / rw - ext4 x rw\n")
	f.file("proc/self/uid_map", "0 100000 65536\n")
	_, r := f.open(Limits{Pids: 9, Memory: 9})
	if r.Pids.By != Rlimit || r.Memory.Enforced() {
		t.Errorf("report %+v", r)
	}
	f.file("proc/self/uid_map", "garbage\n")
	if _, r = f.open(Limits{Pids: 9}); r.Pids.Enforced() || !strings.Contains(r.Pids.Why, "rlimit") {
		t.Errorf("report %+v", r)
	}
}
