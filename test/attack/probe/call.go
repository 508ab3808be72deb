package main

import (
	"fmt"
	"maps"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// call makes the named calls: from the main thread, or with -thread from another
// one, where a filter that was loaded into one thread alone would be missing. With
// -host it makes them as who it is, because root of a namespace is too little.
func call(args []string) int {
	other, host := false, false
	for ; len(args) > 0 && args[0][0] == '-'; args = args[1:] {
		other, host = other || args[0] == "-thread", host || args[0] == "-host"
	}
	try := func() int {
		known := userCalls()
		maps.Copy(known, hostCalls())
		maps.Copy(known, archCalls())
		var tried []attempt
		for _, name := range args {
			if known[name] == nil {
				usage("no such call: " + name)
			}
			tried = append(tried, attempt{name: name, err: invoke(known[name], other)})
		}
		return report(tried, unix.EPERM, unix.ENOSYS)
	}
	if host {
		return try()
	}
	return inNamespaces(unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_NEWUTS, try)
}

func init() { runtime.LockOSThread() } // main stays on the main thread, all else off it

// invoke makes one call. An answer that is not the filter's is as good as success:
// the call was reached.
func invoke(call []uintptr, other bool) error {
	var a [7]uintptr
	copy(a[:], call)
	try := func() syscall.Errno {
		_, _, errno := unix.RawSyscall6(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
		return errno
	}
	var errno syscall.Errno
	if other {
		answer := make(chan syscall.Errno)
		go func() { answer <- try() }()
		errno = <-answer
	} else {
		errno = try()
	}
	if errno == unix.EPERM || errno == unix.ENOSYS {
		return errno
	}
	return nil
}

// trace asks for a process's memory and registers, as a debugger does.
func trace(args []string) int {
	var pid int
	if _, err := fmt.Sscan(args[0], &pid); err != nil {
		usage(err.Error())
	}
	err := unix.PtraceSeize(pid)
	if err == nil {
		unix.PtraceDetach(pid)
	}
	return report([]attempt{{name: "ptrace", err: err}}, unix.EPERM)
}
