package gitoracle

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watchedEnv makes this binary one that lets itself be watched and becomes another.
const watchedEnv = "GITORACLE_WATCHED"

// writes are the flags of an open that changes something.
const writes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// filter lets the kernel stop a process for its tracer at the calls that count,
// and at no others: those that read are a hundred times as many.
func filter() []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET, K: what} }
	is := func(nr uint64, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(nr), Jf: otherwise}
	}
	out := []unix.SockFilter{load(0)}
	for nr := range places {
		flags, byFlags := opens[nr]
		if !byFlags {
			out = append(out, is(nr, 1), ret(unix.SECCOMP_RET_TRACE))
			continue
		}
		out = append(out, is(nr, 4), load(16+8*flags), unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: writes, Jf: 1},
			ret(unix.SECCOMP_RET_TRACE), ret(unix.SECCOMP_RET_ALLOW))
	}
	for _, nr := range []uint64{unix.SYS_EXECVE, unix.SYS_EXECVEAT} {
		out = append(out, is(nr, 1), ret(unix.SECCOMP_RET_TRACE))
	}
	return append(out, ret(unix.SECCOMP_RET_ALLOW))
}

// becomeWatched puts the filter on and becomes the program of the arguments.
func becomeWatched() error {
	runtime.LockOSThread()
	os.Unsetenv(watchedEnv)
	program := filter()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}
