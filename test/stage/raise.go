package stage

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/daemon"
	"ringfence.dev/ringfence/test/rungs"
)

// raise builds the stage around this process, which is the first of its PID
// namespace, and then becomes the test binary under the user's id.
func raise(order string) error {
	runtime.LockOSThread() // mounts are made with the ambient capabilities of this thread
	id, bin, _ := strings.Cut(order, ":")
	uid, err := strconv.Atoi(id)
	if err != nil {
		return err
	}
	groups, err := makeGroups(os.Getenv(groupEnv))
	if err != nil {
		return err
	}
	binary, err := os.Open(bin) // /tmp is about to be another one
	if err != nil {
		return err
	}
	if err := mounts(); err != nil {
		return err
	}
	if err := administer(); err != nil {
		return fmt.Errorf("rung %s: %w", rungs.Name(), err)
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := furnish(binary, uid); err != nil {
		return err
	}
	if Before != nil {
		if err := Before(uid, gidOf(uid)); err != nil {
			return err
		}
	}
	if WantEngine || rungs.Name() == rungs.Container {
		engine := daemon.Engine{Dir: Engine, GID: gidOf(uid), Group: os.Getenv(groupEnv) + engineGroup}
		if _, err := engine.Raise(); err != nil {
			return err
		}
	}
	if err := become(uid); err != nil {
		return err
	}
	os.Unsetenv(raiseEnv)
	os.Unsetenv(groupEnv)
	env := append(os.Environ(), playEnv+"="+id, groupsEnv+"="+strings.Join(groups, ":"))
	return syscall.Exec("/proc/self/exe", append([]string{"test"}, os.Args[1:]...), env)
}

func mounts() error {
	// First away from the real host; then shared again, as systemd leaves it, so
	// that a mount which strays out of a sandbox arrives where it is looked for.
	for _, how := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|how, ""); err != nil {
			return fmt.Errorf("propagation of mounts: %w", err)
		}
	}
	for _, dir := range []string{"/srv", "/tmp", "/var/tmp", "/dev/shm"} {
		if err := unix.Mount("stage", dir, "tmpfs", 0, "mode=1777"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	if err := unix.Mount("stage", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// administer lets an administrator choose the rung that is played on: in an /etc of the
// stage's own, which is a copy.
func administer() error {
	if rungs.Plain() {
		return nil
	}
	at, err := daemon.Socket(Engine), error(nil)
	switch rungs.Name() {
	case rungs.Container:
	case rungs.MicroVM:
		at = os.Getenv(rungs.KernelEnv)
	default:
		at, err = built.Runsc()
	}
	if err != nil {
		return err
	}
	const own = "/srv/etc"
	if err := os.Mkdir(own, 0o755); err != nil {
		return err
	}
	exec.Command("cp", "-a", "/etc/.", own).Run() // what only root can read is left out for others
	if err := os.MkdirAll(own+"/ringfence", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(own+"/ringfence/policy.toml", []byte(rungs.Policy(at)), 0o644); err != nil {
		return err
	}
	return unix.Mount(own, "/etc", "", unix.MS_BIND, "")
}

// loopback brings it up, unless it belongs to a network around the stage.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil || lo.Uint16()&unix.IFF_UP != 0 {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

func furnish(binary io.Reader, uid int) error {
	if err := os.Mkdir("/srv/bin", 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(Ringfence, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, binary); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, dir := range []string{Home, Work, Small} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if dir == Small {
			if err := unix.Mount("stage", dir, "tmpfs", 0, "mode=755,size=256k,nr_inodes=256"); err != nil {
				return fmt.Errorf("mount %s: %w", dir, err)
			}
		}
		if err := os.Chown(dir, uid, gidOf(uid)); err != nil {
			return err
		}
	}
	return nil
}

// gidOf gives the ordinary user a group of his own number.
func gidOf(uid int) int {
	if uid == os.Getuid() {
		return os.Getgid()
	}
	return uid
}

// become leaves no privilege to what is executed next, but root's own.
func become(uid int) error {
	if uid == os.Getuid() {
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(gidOf(uid)); err != nil {
		return err
	}
	return syscall.Setuid(uid)
}
