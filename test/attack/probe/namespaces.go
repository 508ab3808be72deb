package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// entered says that this process is the second one, in namespaces of its own.
var entered bool

func enter(args []string) int {
	entered = true
	return dispatch(args)
}

// inNamespaces does try the way an attacker would: with every capability, as root
// of a user namespace of its own. Where that cannot be had, it tries without.
func inNamespaces(flags uintptr, try func() int) int {
	if entered {
		return try()
	}
	cmd := exec.Command("/proc/self/exe", append([]string{"entered"}, os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = asRoot(flags)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return exitOpen
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Println("# no namespaces:", err)
	return try()
}

func asRoot(flags uintptr) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  flags,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// chain is the known way around a read-only carve-out in a writable tree: keep a
// descriptor of the directory, enter a user and mount namespace of its own, take
// the carve-out away there, and write to what lies beneath.
func chain(args []string) int {
	if len(args) != 2 {
		usage("chain DIR NAME")
	}
	dir, name := args[0], args[1]
	return inNamespaces(unix.CLONE_NEWUSER|unix.CLONE_NEWNS, func() int {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			usage(err.Error())
		}
		path := dir + "/" + name
		// Each step may fail; what counts is whether the file can be written.
		unix.Unmount(path, unix.MNT_DETACH)
		unix.Unmount(dir, unix.MNT_DETACH)
		unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT, "")
		unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT, "")
		if tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.AT_EMPTY_PATH); err == nil {
			fd = tree
		}
		return report([]attempt{{name: path, err: plant(fd, name)}}, unix.EROFS, unix.EACCES)
	})
}

func plant(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("PLANTED\n"))
	return err
}
