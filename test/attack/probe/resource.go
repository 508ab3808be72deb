package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// fork makes the given number of processes that do nothing, and no more: a limit
// below it shows, and nothing grows without bound if there is none.
func fork(args []string) int {
	n, err := strconv.Atoi(args[0])
	if err != nil || n > 1000 {
		usage("fork N, at most 1000")
	}
	var children []int
	var failed error
	for range n {
		pid, errno := idle()
		if errno != 0 {
			failed = errno
			break
		}
		children = append(children, pid)
	}
	for _, pid := range children {
		unix.Kill(pid, unix.SIGKILL)
		unix.Wait4(pid, nil, 0, nil)
	}
	return report([]attempt{{name: fmt.Sprintf("%d processes", n), err: failed}}, unix.EAGAIN)
}

// idle forks without exec. The child is a copy with a single thread, in which the
// runtime does not work: it must do nothing but wait.
//
//go:nosplit
//go:norace
func idle() (int, syscall.Errno) {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	for pid == 0 && errno == 0 {
		unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
	return int(pid), errno
}

// allocate uses the given number of MiB of memory. A limit below it refuses, or
// kills this process.
func allocate(args []string) int {
	mib, err := strconv.Atoi(args[0])
	if err != nil || mib > 1024 {
		usage("allocate MIB, at most 1024")
	}
	b, err := unix.Mmap(-1, 0, mib<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := 0; err == nil && i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	return report([]attempt{{name: args[0] + " MiB", err: err}}, unix.ENOMEM)
}
