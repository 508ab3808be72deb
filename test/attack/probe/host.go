package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// after returns what stands before and after "--".
func after(args []string) (flags, command []string) {
	for i, a := range args {
		if a == "--" && i+1 < len(args) {
			return args[:i], args[i+1:]
		}
	}
	usage("no command after --")
	return nil, nil
}

// noUsers runs a command in a user namespace where no further one can be made, as
// on a host where an administrator turned them off. The command keeps its uid.
func noUsers(args []string) int {
	_, command := after(args)
	if !entered {
		cmd := exec.Command("/proc/self/exe", append([]string{"entered"}, os.Args[1:]...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
		}
		cmd.Run()
		if cmd.ProcessState == nil {
			usage("no user namespace to begin with")
		}
		return cmd.ProcessState.ExitCode()
	}
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		usage(err.Error())
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		usage(err.Error())
	}
	return replace(command)
}

// failing runs a command for which one system call always fails, as on a kernel
// that lacks it.
func failing(args []string) int {
	flags, command := after(args)
	if len(flags) != 2 {
		usage("failing CALL ERRNO -- COMMAND")
	}
	numbers := map[string]uint32{
		"landlock_create_ruleset": unix.SYS_LANDLOCK_CREATE_RULESET,
		"landlock_restrict_self":  unix.SYS_LANDLOCK_RESTRICT_SELF,
		"seccomp":                 unix.SYS_SECCOMP,
		"openat2":                 unix.SYS_OPENAT2,
		"open_tree":               unix.SYS_OPEN_TREE,
		"move_mount":              unix.SYS_MOVE_MOUNT,
		"mount_setattr":           unix.SYS_MOUNT_SETATTR,
		"pivot_root":              unix.SYS_PIVOT_ROOT,
		"sethostname":             unix.SYS_SETHOSTNAME,
		"keyctl":                  unix.SYS_KEYCTL,
		"capset":                  unix.SYS_CAPSET,
	}
	errno, err := strconv.Atoi(flags[1])
	if numbers[flags[0]] == 0 || err != nil {
		usage("failing " + flags[0])
	}
	if err := refuse(numbers[flags[0]], uint32(errno)); err != nil {
		usage(err.Error())
	}
	return replace(command)
}

// refuse loads a filter of four instructions into this thread.
func refuse(number, errno uint32) error {
	const numberOffset = 0 // of struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: number},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | errno},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}

// replace becomes the command. The main thread calls it, so what was set for that
// thread holds for the command.
func replace(command []string) int {
	path, err := exec.LookPath(command[0])
	if err == nil {
		err = unix.Exec(path, command, os.Environ())
	}
	usage(fmt.Sprintf("%s: %v", command[0], err))
	return exitUsage
}

// flip lets a symlink change between two targets, as fast as it can, until it is
// killed. The name is never absent.
func flip(args []string) int {
	if len(args) != 3 {
		usage("flip LINK TARGET TARGET")
	}
	next := args[0] + ".next"
	for i := 1; ; i = 3 - i {
		os.Remove(next)
		if err := os.Symlink(args[i], next); err != nil {
			usage(err.Error())
		}
		if err := os.Rename(next, args[0]); err != nil {
			usage(err.Error())
		}
	}
}
