package toolchain

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const inside = "BRAKE_TEST_INSIDE"

// TestMain runs the tests in a network namespace of their own: real package
// managers are started, and all they can reach is the registry of the test.
func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		if err := raiseLoopback(); err != nil {
			fmt.Fprintln(os.Stderr, "raise loopback:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
	}
	err := cmd.Run()
	if status := (*exec.ExitError)(nil); errors.As(err, &status) {
		os.Exit(status.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "start in a network namespace:", err)
		os.Exit(1)
	}
}

// raiseLoopback is done again by every fuzz worker, which does no harm.
func raiseLoopback() error {
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
