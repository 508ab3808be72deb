package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const systemd = "/usr/lib/systemd/systemd"

// boot is init: it makes a minimal system around itself, lets the server run and
// reaps until that has ended. Where there is systemd it leaves all of that to it.
// It never returns nil: there is nothing after it.
func boot() error {
	if err := leaveRootfs(); err != nil {
		return err
	}
	if err := unix.Exec(systemd, []string{"init"}, environ); !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("exec %s: %w", systemd, err)
	}
	if err := mounts(); err != nil {
		return err
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	p, err := os.StartProcess("/proc/self/exe", []string{"guest", "serve"}, &os.ProcAttr{
		Dir: "/", Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return err
	}
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait: %w", err)
		}
		if pid == p.Pid {
			return fmt.Errorf("the server ended: status %#x", ws)
		}
	}
}

// leaveRootfs puts a mount between us and the first root, from which the kernel
// lets nobody pivot; every distribution leaves it too.
func leaveRootfs() error {
	if err := os.Mkdir("/root.d", 0o755); err != nil {
		return err
	}
	if err := unix.Mount("/", "/root.d", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind root: %w", err)
	}
	if err := os.Chdir("/root.d"); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move root: %w", err)
	}
	return unix.Chroot(".")
}

func mounts() error {
	const inert = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
	for _, m := range []struct {
		dir, kind string
		flags     uintptr
		data      string
	}{
		{"/proc", "proc", inert, ""},
		{"/sys", "sysfs", inert, ""},
		{"/sys/fs/cgroup", "cgroup2", inert, "nsdelegate"}, // as systemd mounts it
		{"/dev", "devtmpfs", unix.MS_NOSUID, "mode=755"},
		{"/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "mode=620,ptmxmode=666"},
		{"/dev/shm", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=755"},
		{"/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"/var/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, m.dir, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	// As systemd leaves it, so that a mount which strays out of a sandbox arrives.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts: %w", err)
	}
	return nil
}

// loopback brings up the only network there is.
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
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// halt ends the machine: it was started not to come up again.
func halt() {
	unix.Sync()
	fmt.Println("guest:", unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART))
	select {}
}
