package audit

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

// World is what an audit looks at. All that depends on the machine is in it.
type World struct {
	Root    string // where the machine's own paths begin; "" is the real machine
	Home    string
	Project string // "" for none
	Environ []string
	UID     int
	GIDs    []int
	Umask   int
	Facts   hostfacts.Facts
	Kernel  Kernel
	VM      string // the hypervisor, as far as it says so

	// Of ringfence itself.
	Binary string // the running program
	Config string // its directories
	State  string
	// Ceiling is the administrator's policy.
	Ceiling string
}

// Kernel are further knobs; -1 means that this kernel does not have the knob.
type Kernel struct {
	KptrRestrict  int
	DmesgRestrict int
	BPFDisabled   int
	PerfParanoid  int
	CgroupV2      bool
}

// Machine fills in what is known of the machine this runs on.
func Machine(environ []string) World {
	w := World{Environ: environ, UID: os.Getuid(), Umask: umask(), Facts: hostfacts.Quick()}
	w.GIDs, _ = os.Getgroups()
	w.GIDs = append(w.GIDs, os.Getgid())
	w.Kernel = Kernel{
		KptrRestrict:  knob("kernel/kptr_restrict"),
		DmesgRestrict: knob("kernel/dmesg_restrict"),
		BPFDisabled:   knob("kernel/unprivileged_bpf_disabled"),
		PerfParanoid:  knob("kernel/perf_event_paranoid"),
	}
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	w.Kernel.CgroupV2 = err == nil
	w.VM = hypervisor()
	return w
}

// umask reads the mask without setting it.
func umask() int {
	b, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Umask:"); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(v), 8, 32); err == nil {
				return int(n)
			}
		}
	}
	return -1
}

func knob(name string) int {
	b, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}

// hypervisor is a hint: what the firmware calls the machine.
func hypervisor() string {
	if b, err := os.ReadFile("/sys/hypervisor/type"); err == nil {
		return strings.TrimSpace(string(b))
	}
	for _, file := range []string{"sys_vendor", "product_name"} {
		b, _ := os.ReadFile("/sys/class/dmi/id/" + file)
		text := strings.ToLower(string(b))
		for _, name := range []string{"qemu", "kvm", "vmware", "virtualbox", "xen", "amazon ec2", "google compute", "firecracker", "parallels", "virtual machine"} {
			if strings.Contains(text, name) {
				return name
			}
		}
	}
	return ""
}

func (w *World) getenv(name string) string {
	for _, e := range w.Environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// at is where a path of the machine lies.
func (w *World) at(path string) string { return w.Root + path }

// home is where a path below the home directory lies.
func (w *World) home(rel string) string { return filepath.Join(w.Home, rel) }

// config is where a path below the user's configuration lies.
func (w *World) config(rel string) string {
	if dir := w.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, rel)
	}
	return w.home(filepath.Join(".config", rel))
}

// look is one audit: a world, and what was read of it so far.
type look struct {
	World
	ctx    context.Context
	docs   map[string]*document
	broken []hit // settings that cannot be read
	agents []Agent
	people *people
	repo   *repository
	notes  []string
}

// stat follows links: people link their settings from elsewhere.
func (w *World) stat(path string) (unix.Stat_t, bool) {
	var st unix.Stat_t
	return st, unix.Stat(path, &st) == nil
}

func isRegular(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFREG }
func isDir(st unix.Stat_t) bool     { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
func isSocket(st unix.Stat_t) bool  { return st.Mode&unix.S_IFMT == unix.S_IFSOCK }

// mayConnect reports whether the user can write to a socket.
func (w *World) mayConnect(st unix.Stat_t) bool {
	if w.UID == 0 || st.Mode&0o002 != 0 || int(st.Uid) == w.UID && st.Mode&0o200 != 0 {
		return true
	}
	for _, g := range w.GIDs {
		if int(st.Gid) == g && st.Mode&0o020 != 0 {
			return true
		}
	}
	return false
}
