package container

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// TestShares: what is below another share comes with it, and makes it writable if it is.
func TestShares(t *testing.T) {
	bind := func(src string, write bool) plan.Op {
		return plan.Op{Do: plan.DoBind, Src: plan.Raw(src), Dst: plan.Raw(src), Write: write}
	}
	p := &plan.Plan{Ops: []plan.Op{bind("/usr", false), bind("/usr/local/bin", false), bind("/home/u/.npm", true), bind("/home/u", false), bind("/usr-2", false),
		{Do: plan.DoSymlink, Dst: "/bin", Src: "usr/bin"}, {Do: plan.DoDevice, Dst: "/dev/null", Src: "/dev/null"},
		{Do: plan.DoLayer, Src: "/work", Dst: "/work", Upper: "/state/l/upper", Work: "/state/l/work"}}}
	got, err := sharesOf(p)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range got {
		mode := " rw"
		if m.ReadOnly {
			mode = " ro"
		}
		if m.Source != m.Target || m.Type != "bind" || m.BindOptions.Propagation != "rprivate" {
			t.Errorf("%+v", m)
		}
		lines = append(lines, m.Source+mode)
	}
	if want := []string{"/home/u rw", "/state/l rw", "/usr ro", "/usr-2 ro", "/work ro"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	for _, bad := range []plan.Op{bind("/", false), bind("relative", false), bind("/a/../b", false), bind("/caf\xe9", false),
		{Do: plan.DoLayer, Src: "/work", Upper: "/a/upper", Work: "/b/work"}} {
		if got, err := sharesOf(&plan.Plan{Ops: []plan.Op{bad}}); err == nil {
			t.Errorf("%+v gave %+v", bad, got)
		}
	}
}

// TestPinned: every source has its inode, and none is found by a link.
func TestPinned(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	judged := &plan.Identity{Dev: 1, Ino: 2}
	p := &plan.Plan{Ops: []plan.Op{{Do: plan.DoBind, Src: plan.Raw(dir)}, {Do: plan.DoBind, Src: plan.Raw(dir), ID: judged}, {Do: plan.DoLayer, Src: plan.Raw(dir)}, {Do: plan.DoDevice, Src: "/dev/null"}}}
	got, err := pinned(p)
	if err != nil {
		t.Fatal(err)
	}
	if got.Ops[0].ID == nil || got.Ops[2].ID == nil || got.Ops[1].ID != judged || got.Ops[3].ID != nil || p.Ops[0].ID != nil {
		t.Errorf("%+v of %+v", got.Ops, p.Ops)
	}
	for _, bad := range []string{link, link + "/link", filepath.Join(dir, "none")} {
		if got, err := pinned(&plan.Plan{Ops: []plan.Op{{Do: plan.DoBind, Src: plan.Raw(bad)}}}); err == nil {
			t.Errorf("%s: %+v", bad, got.Ops)
		}
	}
}

// TestOrder: an engine's further walls are dealt with by name, and nothing is granted.
func TestOrder(t *testing.T) {
	o := newOrder(about{SecurityOptions: []string{"name=apparmor", "name=seccomp,profile=builtin", "name=userns"}}, "image", "id", cgroup.Limits{Memory: 5, Pids: 6}, nil)
	if h := o.HostConfig; !slices.Contains(h.SecurityOpt, "apparmor=unconfined") || slices.Contains(h.SecurityOpt, "label=disable") || h.UsernsMode != "host" || h.Memory != 5 || h.MemorySwap != 5 || h.PidsLimit != 6 {
		t.Errorf("%+v", h)
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	// An engine takes what is not said from its own settings: what matters is said.
	for _, said := range []string{`"MaskedPaths":[]`, `"ReadonlyPaths":[]`, `"Init":false`, `"NetworkMode":"none"`, `"CapDrop":["ALL"]`, `"ReadonlyRootfs":true`, `"AutoRemove":true`} {
		if !strings.Contains(string(b), said) {
			t.Errorf("%s is not in %s", said, b)
		}
	}
}

// TestVolumes: an image with a volume where something is shared is refused.
func TestVolumes(t *testing.T) {
	shares := []mount{share("/home/me/work", "/home/me/work", false)}
	for volume, ok := range map[string]bool{"/data": true, "/home/me/workshop": true, "/home/me/work": false, "/home/me/work/db": false, "/home": false, "home/me/work/": false, "/": false} {
		var i imageInfo
		i.Config.Volumes = map[string]struct{}{volume: {}}
		if err := i.fits(shares); (err == nil) != ok {
			t.Errorf("%s: %v", volume, err)
		}
	}
}

// TestLocate: only a socket of this machine will do, of root's or our own.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(host string) func(string) string {
		return func(name string) string { return map[string]string{"DOCKER_HOST": host}[name] }
	}
	if e, err := locate("", env("unix://"+dir+"/s")); err != nil || e.socket != dir+"/s" {
		t.Error(e, err)
	}
	if e, err := locate(dir+"/s", env("tcp://elsewhere:1")); err != nil || e.socket != dir+"/s" {
		t.Error("policy does not count before the environment:", e, err)
	}
	for _, host := range []string{"tcp://127.0.0.1:2375", "ssh://host", "npipe:////./pipe/x", dir + "/s", "unix://" + dir + "/file", "unix://" + dir + "/none"} {
		if e, err := locate("", env(host)); err == nil {
			t.Errorf("%s: %+v", host, e)
		}
	}
}

// TestAnswers: an engine's answer is bounded, and its words for an error are passed on.
func TestAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/info":
			w.Write([]byte(`{"OSType":"linux","SecurityOptions":["name=rootless"]}`))
		case "/containers/long/json":
			w.Write(make([]byte, maxAnswer+2))
		case "/containers/dead/json":
			w.Write([]byte(`{"State":{"Pid":0}}`))
		default:
			w.WriteHeader(http.StatusConflict)
			w.Write([]byte(`{"message":"no room"}`))
		}
	})}
	go srv.Serve(l)
	defer srv.Close()
	e, err := at(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := e.usable(ctx); err == nil || !strings.Contains(err.Error(), "rootless") {
		t.Error(err)
	}
	if _, err := e.first(ctx, "long"); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Error(err)
	}
	if _, err := e.first(ctx, "dead"); err == nil {
		t.Error("a container without a process is taken")
	}
	if err := e.start(ctx, "x"); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Error(err)
	}
	if err := e.remove(ctx, "x"); err != nil {
		t.Errorf("a container that is about to go: %v", err)
	}
}

// TestView: what an engine is asked to build of a plan, and what it cannot.
func TestView(t *testing.T) {
	host := t.TempDir()
	for _, name := range []string{"work/dir", "work/.git"} {
		if err := os.MkdirAll(filepath.Join(host, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(host, "work/.env"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) plan.Raw { return plan.Raw(filepath.Join(host, "work", name)) }
	p := &plan.Plan{UID: 7, GID: 8, Ops: []plan.Op{{Do: plan.DoBind, Src: "/usr", Dst: "/usr"}, {Do: plan.DoSymlink, Src: "usr/bin", Dst: "/bin"}, {Do: plan.DoSymlink, Src: "/run", Dst: "/var/run"},
		{Do: plan.DoTmpfs, Dst: "/dev", Size: 1}, {Do: plan.DoPts, Dst: "/dev/pts"}, {Do: plan.DoTmpfs, Dst: "/home/u", Size: 1 << 20, Mode: 0o700},
		{Do: plan.DoBind, Src: at(""), Dst: "/home/u/w", Write: true}, {Do: plan.DoFile, Dst: "/home/u/.config/git/config", Data: []byte("x")},
		{Do: plan.DoFile, Dst: "/home/u/w/.env", Data: []byte("phantom")}, {Do: plan.DoMask, Dst: "/home/u/w/dir"}, {Do: plan.DoMask, Dst: "/home/u/w/not"},
		{Do: plan.DoMask, Dst: "/proc/keys"}, {Do: plan.DoSymlink, Src: "/there", Dst: "/home/u/link"}, {Do: plan.DoReadOnly, Dst: "/"}}}
	p.Ops[6].Src = plan.Raw(filepath.Join(host, "work"))
	v, err := viewOf(p, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range v.mounts {
		if m.ReadOnly != (m.Target != "/home/u/w") {
			t.Errorf("%+v", m)
		}
		lines = append(lines, m.Target)
	}
	if want := []string{"/usr", "/home/u/w", "/home/u/.config/git/config", "/home/u/w/.env", "/home/u/w/dir"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	for _, dir := range []string{"/sys", "/home/u", "/home/u/.config", "/home/u/.config/git"} {
		if o := v.tmpfs[dir]; !strings.Contains(o, "nosuid,nodev") || dir != "/sys" && !strings.HasSuffix(o, "uid=7,gid=8") {
			t.Errorf("%s: %q", dir, o)
		}
	}
	if len(v.tmpfs) != 4 || !slices.Equal(v.masked, []string{"/proc/keys"}) || len(v.links) != 2 {
		t.Errorf("%+v", v)
	}
	for i, judged := range map[int]bool{7: true, 8: true, 9: true, 10: false} {
		if (v.ops[i].ID != nil) != judged {
			t.Errorf("%+v", v.ops[i])
		}
	}
	tag, _, err := v.root()
	again, content, err2 := v.root()
	if err != nil || err2 != nil || tag != again || len(content) == 0 {
		t.Errorf("%s, %s, %v, %v", tag, again, err, err2)
	}
	for _, bad := range []plan.Op{{Do: plan.DoFile, Dst: "/usr/not/there"}, {Do: plan.DoSymlink, Dst: "/usr/link", Src: "x"}, {Do: plan.DoBind, Src: "/", Dst: "/x"},
		{Do: plan.DoBind, Src: "/usr", Dst: "/x", There: true}, {Do: plan.DoLayer, Dst: "/x"}, {Do: plan.DoBind, Src: "/caf\xe9", Dst: "/x"}} {
		if _, err := viewOf(&plan.Plan{Ops: []plan.Op{p.Ops[0], bad}}, t.TempDir()); err == nil {
			t.Errorf("%+v is built", bad)
		}
	}
}

// TestNobodyOrdered: every mount of a container is one that was ordered, the engine's own, or
// came with a share of the host, as strict as that.
func TestNobodyOrdered(t *testing.T) {
	v := &view{tmpfs: map[string]string{"/tmp": "", "/sys": ""}, mounts: []mount{share("/usr", "/usr", true), share("/state/copy", "/home/u/w", false), share("/state/1", "/etc/passwd", true)}}
	here := []probe.Mount{{Point: "/"}, {Point: "/usr/local"}, {Point: "/state/copy/disk"}}
	ro := []string{"ro", "relatime"}
	fine := []probe.Mount{{Point: "/", Type: "overlay"}, {Point: "/proc", Type: "proc"}, {Point: "/proc/sys", Type: "proc", Root: "/sys"}, {Point: "/proc/keys", Type: "tmpfs", Root: "/null"},
		{Point: "/dev", Type: "tmpfs"}, {Point: "/dev/pts", Type: "devpts"}, {Point: "/dev/mqueue", Type: "mqueue"}, {Point: "/sys/fs/cgroup", Type: "cgroup2"}, {Point: "/sys"}, {Point: "/tmp"},
		{Point: stagePath}, {Point: linkPath}, {Point: "/usr", Options: ro}, {Point: "/usr/local", Options: ro}, {Point: "/home/u/w"}, {Point: "/home/u/w/disk"}, {Point: "/etc/passwd"}}
	if err := v.compare(fine, here); err != nil {
		t.Error(err)
	}
	for _, m := range []probe.Mount{{Point: "/more"}, {Point: "/usr/share/doc", Options: ro}, {Point: "/usr/local", Options: []string{"rw"}}, {Point: "/tmp/more", Options: ro},
		{Point: "/run/secrets", Type: "tmpfs"}, {Point: "/dev/more"}, {Point: "/dev/pts", Type: "ext4"}, {Point: "/proc/version", Type: "ext4", Root: "/etc/passwd"},
		{Point: "/home/u/w/more"}, {Point: "/home/u/w2"}, {Point: "/etc/hosts"}} {
		if err := v.compare(append(slices.Clone(fine), m), here); err == nil {
			t.Errorf("%+v is taken", m)
		}
	}
}
