package attack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/dockerd"
)

// What the made host is like.
const (
	hostName   = "canaryhost"
	binDir     = "/opt/attack/bin"
	runscAt    = "/opt/attack/runsc"
	engineAt   = "/run/engine"
	ttyLog     = "/var/tmp/scratch/tty.log"
	scratch    = "/var/tmp/scratch" // for scripts of the host's side; not part of the host's state
	ordinaryID = 1711
)

// host is the host of one run, seen from its first process.
type host struct {
	req      request
	name     string // of the user
	home, ws string
	upper    int   // directory that takes what root writes to /usr, or -1
	born     int64 // when nothing was planted yet
}

// newHost leaves this process on a host of its own: a root file system made from
// nothing but the machine's /usr, with a user, a workspace and many canaries.
func newHost(req request) (*host, error) {
	h := &host{req: req, upper: -1, born: time.Now().Unix() - 1, name: "agent", home: "/home/agent"}
	if req.UID == 0 {
		h.name, h.home = "root", "/root"
	}
	h.ws = h.home + "/src/project"
	for _, step := range []func() error{
		h.mountRoot, h.mountUsr, h.mountDevices, h.mountPrivate, h.pivot,
		h.writeEtc, h.plant, h.makeWorkspace, h.giveOver, h.identify, h.engage, h.serve, h.bequeath,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// engage starts a container engine where the rung needs one. A control needs none, but where
// its script starts ringfence itself.
func (h *host) engage() error {
	c := h.req.Case
	if h.req.Group == "" || h.req.Enter == nil && !strings.Contains(c.Setup+c.Run, "$RF") {
		return nil
	}
	_, err := dockerd.Engine{Dir: engineAt, GID: h.req.GID, Group: h.req.Group, Apart: true}.Raise()
	return err
}

// in is a path while the new root is being built.
func (h *host) in(path string) string { return h.req.Root + path }

func (h *host) mount(source, target, fstype string, flags uintptr, data string) error {
	if err := os.MkdirAll(h.in(target), 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, h.in(target), fstype, flags, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
	return nil
}

// mountRoot starts from an empty root and takes from the machine what /usr needs
// beside it.
func (h *host) mountRoot() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := h.mount("attack", "", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix"} {
		st, err := os.Lstat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		case st.IsDir():
			err = h.mount(name, name, "", unix.MS_BIND|unix.MS_REC, "")
		default:
			var target string
			if target, err = os.Readlink(name); err == nil {
				err = os.Symlink(target, h.in(name))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mountUsr attaches /usr. For root it lies under an overlay, so that what root
// writes there, in a control or through a hole, is seen and does not last.
func (h *host) mountUsr() error {
	if os.Getuid() != 0 {
		return h.mount("/usr", "/usr", "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err := h.mount("attack", "/upper", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, d := range []string{"/upper/data", "/upper/work"} {
		if err := os.Mkdir(h.in(d), 0o755); err != nil {
			return err
		}
	}
	data := fmt.Sprintf("lowerdir=/usr,upperdir=%s,workdir=%s", h.in("/upper/data"), h.in("/upper/work"))
	if err := h.mount("overlay", "/usr", "overlay", 0, data); err != nil {
		return err
	}
	var err error
	if h.upper, err = unix.Open(h.in("/upper/data"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.Unmount(h.in("/upper"), unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Remove(h.in("/upper"))
}

// mountDevices makes a /dev with the nodes that programs need; those that an
// agent must not see are planted beside them as files.
func (h *host) mountDevices() error {
	if err := h.mount("attack", "/dev", "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"} {
		if err := os.WriteFile(h.in(name), nil, 0o666); err != nil {
			return err
		}
		if err := unix.Mount(name, h.in(name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", name, err)
		}
	}
	for name, target := range map[string]string{"/dev/ptmx": "pts/ptmx", "/dev/fd": "/proc/self/fd",
		"/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(target, h.in(name)); err != nil {
			return err
		}
	}
	if err := h.mount("attack", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return err
	}
	return h.mount("attack", "/dev/shm", "tmpfs", 0, "mode=1777,size=1t")
}

// mountPrivate makes the rest: what no other run shares.
func (h *host) mountPrivate() error {
	for _, dir := range []string{"/etc", "/root", "/home", "/srv", "/mnt", "/opt", "/var/lib", "/var/log", "/var/tmp"} {
		if err := os.MkdirAll(h.in(dir), 0o755); err != nil {
			return err
		}
	}
	if err := h.mount("/sys", "/sys", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := h.mount("attack", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	// As roomy as a host's disk: it is the sandbox that must set a bound.
	for _, dir := range []string{"/tmp", "/var/tmp", "/run", h.home} {
		if err := h.mount("attack", dir, "tmpfs", 0, "mode=1777,size=1t,nr_inodes=0"); err != nil {
			return err
		}
	}
	if err := os.Symlink("/run", h.in("/var/run")); err != nil {
		return err
	}
	if err := h.mount(h.req.Bin, binDir, "", unix.MS_BIND, ""); err != nil || h.req.Runsc == "" {
		return err
	}
	if err := os.WriteFile(h.in(runscAt), nil, 0o755); err != nil {
		return err
	}
	return unix.Mount(h.req.Runsc, h.in(runscAt), "", unix.MS_BIND, "")
}

// pivot leaves the machine's file system. A chroot would not do: who is in one
// can make no user namespace.
func (h *host) pivot() error {
	old := h.in("/mnt")
	if err := unix.PivotRoot(h.req.Root, old); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	for _, name := range systemFiles() {
		if err := copyTree("/mnt"+name, name); err != nil {
			return err
		}
	}
	return unix.Unmount("/mnt", unix.MNT_DETACH)
}

// systemFiles are what programs of /usr want from /etc; none of it is secret.
func systemFiles() []string {
	return []string{"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/nsswitch.conf",
		"/etc/localtime", "/etc/os-release", "/etc/debian_version", "/etc/bash.bashrc", "/etc/profile"}
}

// copyTree copies links and readable files; what is not there is not needed.
func copyTree(from, to string) error {
	return filepath.Walk(from, func(path string, st os.FileInfo, err error) error {
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		dst := to + strings.TrimPrefix(path, from)
		switch {
		case st.IsDir():
			return os.MkdirAll(dst, 0o755)
		case st.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, dst)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(dst, data, 0o644)
	})
}

// identify names the host and gives it a network.
func (h *host) identify() error {
	if err := unix.Sethostname([]byte(hostName)); err != nil {
		return err
	}
	return network()
}
