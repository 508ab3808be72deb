package microvm

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/microvm/ext4"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/program"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

func TestCompareVersions(t *testing.T) {
	want := []string{"vmlinuz-5.10.0-9", "vmlinuz-6.1.0-9-amd64", "vmlinuz-6.1.0-10-amd64", "vmlinuz-6.1.0-10-amd64-x", "vmlinuz-6.12.1"}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, compareVersions); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// bzImage wraps a payload as a kernel is wrapped.
func bzImage(payload []byte) []byte {
	b := make([]byte, 1024)
	b[0x1f1] = 1
	copy(b[0x202:], "HdrS")
	binary.LittleEndian.PutUint16(b[0x206:], 0x20f)
	binary.LittleEndian.PutUint32(b[0x24c:], uint32(len(payload)))
	return append(b, payload...)
}

func TestPayload(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte("\x7fELF and so on"))
	w.Close()
	p, err := payload(bzImage(z.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := unpack(p); err != nil || string(b) != "\x7fELF and so on" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := unpack([]byte("plain")); err == nil {
		t.Error("what is not packed was unpacked")
	}
}

func FuzzPayload(f *testing.F) {
	f.Add(bzImage([]byte("12345678")))
	f.Add(bzImage([]byte("\x1f\x8b345678"))[:1030])
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := payload(b); err == nil && len(p) > len(b) {
			t.Errorf("%d bytes of %d", len(p), len(b))
		}
	})
}

// TestCards: a command line of ours has no network card, and each way to ask for one is seen.
func TestCards(t *testing.T) {
	argv := qemu{}.argv("/usr/bin/qemu", machine{accel: tcg, memory: 512, cpus: 1, tell: []string{"boot", "1", "1"}})
	line := func(more ...string) []byte {
		return []byte(strings.Join(append(slices.Clone(argv), more...), "\x00") + "\x00")
	}
	if got := cards(line()); got != "none" {
		t.Errorf("ours: %q", got)
	}
	for _, more := range [][]string{{"-net", "user"}, {"-netdev", "user,id=x"}, {"-nic", "user"}, {"-device", "e1000"}, {"-device", "virtio-net-pci,netdev=x"}, {"-device"}} {
		if got := cards(line(more...)); got == "none" {
			t.Errorf("%q is not seen", more)
		}
	}
	if got := interfaces([]byte("Inter-|   Receive\n face |bytes\n    lo: 0 0\n  eth0: 1 2\n")); got != "lo eth0" {
		t.Errorf("%q", got)
	}
}

// sessionPlan is one with all that can be hidden.
func sessionPlan(t *testing.T) *plan.Plan {
	t.Helper()
	upper := filepath.Join(t.TempDir(), "upper")
	if err := os.MkdirAll(filepath.Join(upper, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	for _, err := range []error{os.Mkdir(filepath.Join(work, "sub"), 0o700), os.WriteFile(filepath.Join(work, "sub/.env"), []byte("secrets"), 0o600),
		os.WriteFile(filepath.Join(work, "same"), []byte("same"), 0o600), os.Symlink("sub/.env", filepath.Join(work, "link")),
		os.WriteFile(filepath.Join(upper, "sub/.env"), []byte("phantom"), 0o600), os.WriteFile(filepath.Join(upper, "same"), []byte("same"), 0o600),
		os.WriteFile(filepath.Join(upper, "link"), nil, 0o600), os.WriteFile(filepath.Join(upper, "new"), nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &plan.Plan{UID: 7, GID: 8, Landlock: plan.Landlock{ABI: 3}, Ops: []plan.Op{
		{Do: plan.DoBind, Dst: "/usr", Src: "/usr"},
		{Do: plan.DoTmpfs, Dst: "/home/u", Size: 1},
		{Do: plan.DoBind, Dst: "/home/u/.cache", Src: plan.Raw(t.TempDir()), Write: true},
		{Do: plan.DoLayer, Dst: "/work", Src: plan.Raw(work), Upper: plan.Raw(upper), Work: "/w", ID: &plan.Identity{Dev: 1, Ino: 2}},
		{Do: plan.DoCache, Dst: "/home/u/go", Src: "/own", Upper: "/up", Work: "/wk", Lower: []plan.Raw{"/ready"}},
		{Do: plan.DoMask, Dst: "/work/secret"},
		{Do: plan.DoMask, Dst: "/proc/keys"},
		{Do: plan.DoMask, Dst: "/usr/secret"},
		{Do: plan.DoFile, Dst: "/work/.settings", Data: []byte("{}")},
		{Do: plan.DoFile, Dst: "/etc/hosts", Data: []byte("x")},
		{Do: plan.DoDevice, Dst: "/dev/null", Src: "/dev/null"},
	}}
}

// TestShares: what the session hides is hidden from the machine; nothing of it is writable but
// the disk; and inodes are compared.
func TestShares(t *testing.T) {
	disk, err := makeDisk(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	session := sessionPlan(t)
	session.Limits = plan.Limits{Pids: 5, Open: 6}
	p, err := jail(session, []string{"/usr/bin/qemu"}, []plan.Op{{Do: plan.DoBind, Dst: diskAt, Src: plan.Raw(disk.Name()), Write: true}}, []string{"/dev/null"})
	if err != nil {
		t.Fatal(err)
	}
	has := func(do plan.Do, dst string) bool {
		return slices.ContainsFunc(p.Ops, func(o plan.Op) bool { return o.Do == do && string(o.Dst) == dst })
	}
	for dst, do := range map[string]plan.Do{"/share/work": plan.DoCover, "/share/work/secret": plan.DoMask, "/share/work/.settings": plan.DoMask,
		"/share/usr": plan.DoBind, "/share/home/u": plan.DoTmpfs, "/share/home/u/.cache": plan.DoBind, "/share/.lower/home/u/go/1": plan.DoBind, "/": plan.DoReadOnly,
		"/proc/keys": plan.DoMask, "/usr/secret": plan.DoMask, "/share/usr/secret": plan.DoMask} {
		if !has(do, dst) {
			t.Errorf("there is no %s %s", do, dst)
		}
	}
	for _, o := range p.Ops {
		if o.Write && o.Dst != diskAt {
			t.Errorf("%s can be written", o.Dst)
		}
		if strings.HasPrefix(string(o.Dst), "/share/proc") || strings.HasPrefix(string(o.Dst), "/share/etc/hosts") {
			t.Errorf("%s %s", o.Do, o.Dst)
		}
		if o.Dst == "/share/work" && (o.ID == nil || !slices.Equal(o.Hide, []plan.Raw{"link", "new", "same", "sub/.env"})) {
			t.Errorf("the workspace is not compared, or hides %q", o.Hide)
		}
	}
	if !slices.Equal(p.Landlock.Write, []plan.Raw{diskAt}) || p.Capture != nil {
		t.Errorf("it may write %q", p.Landlock.Write)
	}
	if p.Limits != (plan.Limits{Pids: 5, Open: 6, File: 1 << 20}) {
		t.Errorf("its limits are %+v", p.Limits)
	}
	for _, w := range plan.AllWalls() {
		if w != plan.WallTTY && !slices.Contains(p.Walls, w) {
			t.Errorf("the wall %s does not stand around the emulator", w)
		}
	}
}

// TestPlan: the guest names what the host shares, and writes to nothing of it.
func TestPlan(t *testing.T) {
	session := sessionPlan(t)
	p, err := Place{}.plan(session)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range p.Ops {
		switch {
		case o.Dst == "/dev/null":
			continue
		case o.ID != nil, o.Do == plan.DoBind && (o.Write || o.Src != "/share"+o.Dst), o.Do == plan.DoLayer && o.Src != "/share/work", o.Do == plan.DoCache && !o.There:
			t.Errorf("%+v", o)
		}
		if o.Do == plan.DoCache && (len(o.Lower) == 0 || !strings.HasPrefix(string(o.Lower[0]), "/share/")) {
			t.Errorf("%+v", o)
		}
		if session.Ops[i].Do == plan.DoCache && session.Ops[i].Lower[0] != "/ready" {
			t.Error("the session's own plan was changed")
		}
	}
}

func TestSize(t *testing.T) {
	for _, tc := range []struct {
		place Place
		limit int64
		ok    bool
	}{
		{Place{}, 0, true},
		{Place{Memory: 512 << 20}, 1 << 30, true},
		{Place{Memory: 1 << 30}, 1 << 30, false},
		{Place{Memory: 1 << 20}, 0, false},
		{Place{Disk: 1 << 20}, 0, false},
		{Place{Disk: 2 * ext4.Most}, 0, false},
		{Place{CPUs: 1000}, 0, false},
		{Place{}, 300 << 20, false},
	} {
		memory, cpus, disk, err := tc.place.size(cgroup.Limits{Memory: tc.limit})
		if (err == nil) != tc.ok || tc.ok && (memory < leastMemory || cpus < 1 || disk%ext4.Least != 0) {
			t.Errorf("%+v under %d: %d, %d, %d, %v", tc.place, tc.limit, memory, cpus, disk, err)
		}
	}
}

// TestLimits: the jail is put under the limits of the session before it starts the emulator.
func TestLimits(t *testing.T) {
	joined := 0
	h := hooks(far.Begin{Join: func(pid int) error { joined = pid; return nil }, Within: func(func(int) error) error { return os.ErrExist }}, nil, nil, nil)
	if h.Join == nil || h.Join(7) != nil || joined != 7 || h.Within == nil || h.Within(nil) != os.ErrExist {
		t.Errorf("joined %d", joined)
	}
	proc := t.TempDir()
	for id, groups := range map[string]string{"1": "0::/a", "2": "0::/a", "3": "0::/"} {
		if err := errors.Join(os.Mkdir(filepath.Join(proc, id), 0o700), os.WriteFile(filepath.Join(proc, id, "cgroup"), []byte(groups), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if in, out := sameGroups(proc, "1", "2"), sameGroups(proc, "1", "3"); in != nil || out == nil {
		t.Errorf("in the group: %v; outside: %v", in, out)
	}
}

// TestPinnedFirst: a kernel that policy does not mean is not booted, not even to try.
func TestPinnedFirst(t *testing.T) {
	at := filepath.Join(t.TempDir(), "vmlinuz-1")
	if err := os.WriteFile(at, []byte("kernel"), 0o444); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := &parts{kernel: &kernel{file: &program.File{File: f, Path: at}}, qemu: &program.File{File: f, Path: at}}
	tried := 0
	try := func() hostfacts.Result { tried++; return hostfacts.Result{Status: hostfacts.OK} }
	if b, err := (Place{KernelSum: strings.Repeat("0", 64)}).judge(found, try); err == nil || b != nil || tried != 0 {
		t.Errorf("another kernel: %v, %v, and it was booted %d times", b, err, tried)
	}
	if b, err := (Place{QemuSum: strings.Repeat("0", 64)}).judge(found, try); err == nil || b != nil || tried != 0 {
		t.Errorf("another emulator: %v, %v, and it was booted %d times", b, err, tried)
	}
	if b, err := (Place{KernelSum: fmt.Sprintf("%x", sha256.Sum256([]byte("kernel")))}).judge(found, try); err != nil || b == nil || tried != 1 {
		t.Errorf("the one that is meant: %v, %v, and it was booted %d times", b, err, tried)
	}
}

// TestDiskGoes: once the guest has greeted its disk has no name that a kill could leave.
func TestDiskGoes(t *testing.T) {
	dir := t.TempDir()
	disk, err := makeDisk(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString(guest.Greeting{}.String())
	w.Close()
	if _, err := (&box{File: r, disk: disk}).greeting(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// seenAround is what is seen of a jail that stands.
func seenAround() rung.Seen {
	seen := rung.Seen{Keyring: 1 << 30, Outside: map[string]string{"status.CapPrm": "0000000000000000", "status.NoNewPrivs": "1", "status.Seccomp": "2"}}
	for _, kind := range probe.Kinds() {
		seen.Outside["ns."+kind] = "1"
	}
	for _, name := range []string{"caps", "no-new-privs", "seccomp", "tty", "nested", "mount-calls", "keyring", "landlock", "view", "net", "pid", "threads"} {
		seen.Probes = append(seen.Probes, rung.Observation{Probe: name})
	}
	return seen
}

// TestAround: a wall of the jail that is open, or that nobody asked about, stops the launch.
func TestAround(t *testing.T) {
	p, err := jail(sessionPlan(t), []string{"/usr/bin/qemu"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	judge := around(p.Walls)
	if err := judge(seenAround()); err != nil {
		t.Fatalf("the control: %v", err)
	}
	own := func(kind string) string {
		n, err := probe.Namespace("self", kind)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(n)
	}
	for name, take := range map[string]func(*rung.Seen){
		"no probe":           func(s *rung.Seen) { s.Probes = nil },
		"one probe less":     func(s *rung.Seen) { s.Probes = s.Probes[1:] },
		"an open wall":       func(s *rung.Seen) { s.Probes[8].Open = true },
		"no keyring":         func(s *rung.Seen) { s.Keyring = 0 },
		"our user namespace": func(s *rung.Seen) { s.Outside["ns.user"] = own("user") },
		"our mounts":         func(s *rung.Seen) { s.Outside["ns.mnt"] = own("mnt") },
		"our network":        func(s *rung.Seen) { s.Outside["ns.net"] = own("net") },
		"our processes":      func(s *rung.Seen) { s.Outside["ns.pid"] = own("pid") },
		"nobody saw ipc":     func(s *rung.Seen) { delete(s.Outside, "ns.ipc") },
		"capabilities":       func(s *rung.Seen) { s.Outside["status.CapPrm"] = "1" },
		"no filter":          func(s *rung.Seen) { s.Outside["status.Seccomp"] = "0" },
	} {
		seen := seenAround()
		take(&seen)
		if judge(seen) == nil {
			t.Errorf("%s: it is started", name)
		}
	}
}

// TestUnpackBounded: what holds more than a kernel can is refused, and not cut, whoever unpacks.
func TestUnpackBounded(t *testing.T) {
	for most, ok := range map[int64]bool{8: true, 7: false} {
		if b, err := bounded(strings.NewReader("12345678"), most); (err == nil) != ok || ok && string(b) != "12345678" {
			t.Errorf("a bound of %d: %q, %v", most, b, err)
		}
		if b, err := pipe([]string{"cat"}, []byte("12345678"), most); (err == nil) != ok || ok && string(b) != "12345678" {
			t.Errorf("a bound of %d, by a program: %q, %v", most, b, err)
		}
	}
	if _, err := pipe([]string{"cat", "/dev/zero"}, nil, 1<<20); err == nil {
		t.Error("a program that goes on is waited for")
	}
}

// TestNoCopy: a guest without an overlay is refused. The session would copy the workspace instead, and
// what became of the copy would go with the guest.
func TestNoCopy(t *testing.T) {
	b := &box{console: &console{}}
	no := &rung.Failure{Step: rung.StepLayer, Text: "no such device"}
	if err := b.why(fmt.Errorf("there: %w", no)); rung.FailedAt(err, rung.StepLayer) || !strings.Contains(err.Error(), "no such device") {
		t.Errorf("%v", err)
	}
	if err := b.why(no); fault.KindOf(err) != fault.Refused {
		t.Errorf("%v", err)
	}
}
