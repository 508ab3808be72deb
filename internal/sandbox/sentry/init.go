package sentry

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// InitName is argv[0] of the first process on the sentry's kernel. The agent never sees
// it: it stands in a PID namespace of the sentry around the agent's.
const InitName = "ringfence-sentry"

// Which filter the process of the plan gets.
const (
	filterPlain  = "filter"
	filterReview = "review"
	filterNone   = "none"
)

// initControl is where runsc puts the socket to the supervisor.
const initControl = 3

// InitMain raises what needs privileges on the sentry's kernel, and starts the process that
// carries the plan out, under name. It does not return.
func InitMain(args []string, name string) {
	runtime.LockOSThread()
	conn := wire.Inherited(initControl)
	child, err := prepare(args, name)
	if err != nil {
		report(conn, "sentry", err)
		os.Exit(1)
	}
	// From here the socket is the child's alone: its end is the end of the session.
	conn.Close()
	for fd := range 3 {
		unix.Close(fd)
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if pid == child || err != nil && !errors.Is(err, unix.EINTR) {
			os.Exit(0)
		}
	}
}

func prepare(args []string, name string) (child int, err error) {
	if len(args) != 4+len(passed()) {
		return 0, errors.New("no user is named")
	}
	var ids sys.IDs
	for i, n := range []*int{&ids.UID, &ids.GID} {
		if *n, err = strconv.Atoi(args[i+1]); err != nil {
			return 0, err
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("make the first process non-dumpable: %w", err)
	}
	restrict := uintptr(unix.MS_REMOUNT | unix.MS_BIND | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_RDONLY)
	if mutated("sentry-nosuid") {
		restrict &^= unix.MS_NOSUID
	}
	if mutated("sentry-root") {
		restrict &^= unix.MS_RDONLY
	}
	if err := unix.Mount("", "/", "", restrict, ""); err != nil {
		return 0, fmt.Errorf("restrict the root: %w", err)
	}
	if err := tidyDevices(); err != nil {
		return 0, err
	}
	filter, err := seccomp.Sentry(runtime.GOARCH, args[3] == filterReview)
	if err != nil {
		return 0, err
	}
	given := filter
	if args[3] == filterNone {
		given = nil
	}
	if child, err = fork(ids, name, given); err != nil {
		return 0, err
	}
	// This process only waits from here.
	return child, errors.Join(sys.DropCapabilities(), sys.NoNewPrivs(), sys.LoadFilter(filter))
}

// devices are those that every program may expect.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin", "stdout", "stderr"}

// tidyDevices takes away what the sentry has beyond them, such as its FUSE device.
func tidyDevices() error {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(devices, e.Name()) || mutated("sentry-devices") {
			continue
		}
		if err := os.RemoveAll("/dev/" + e.Name()); err != nil {
			return fmt.Errorf("take a device away: %w", err)
		}
	}
	// The sentry opens a terminal by this name on the mount that the name is on, and so
	// refuses to write where that is read-only.
	if err := unix.Mount("/dev/tty", "/dev/tty", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keep /dev/tty writable: %w", err)
	}
	if err := unix.Mount("", "/dev/tty", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("restrict /dev/tty: %w", err)
	}
	return unix.Mount("", "/dev", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NOEXEC|unix.MS_RDONLY, "")
}

// fork starts the process of the plan in a user namespace in which the only user is the
// sandbox's own, as PID 1 of a PID namespace, with a proc of it. It loses every capability
// with its program, because that user is not root there or has an empty bounding set: so
// no thread of it ever has one. The probes at launch look at all of them. The filter is
// loaded here too: for every thread that it is loaded on, the sentry tries it out with every
// call, which takes long.
func fork(ids sys.IDs, name string, filter []byte) (int, error) {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(proc)
	last, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return 0, err
	}
	lastCap, err := sys.LastCap(last)
	if err != nil {
		return 0, err
	}
	const quiet = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	calls := []sys.Call{mountCall("/proc", "none", unix.MS_REMOUNT|unix.MS_BIND|quiet), mountCall("/proc", "proc", quiet)} // over the one of this PID namespace
	calls = append(calls, sys.Call{Number: unix.SYS_PRCTL, Args: [5]uintptr{unix.PR_SET_NO_NEW_PRIVS, 1}})
	for c := 0; c <= lastCap; c++ {
		calls = append(calls, sys.Call{Number: unix.SYS_PRCTL, Args: [5]uintptr{unix.PR_CAPBSET_DROP, uintptr(c)}})
	}
	if filter != nil {
		load, err := sys.FilterCall(filter)
		if err != nil {
			return 0, err
		}
		calls = append(calls, load)
	}
	s := sys.Spawn{Path: "/proc/self/exe", Argv: append([]string{name}, passed()...), Dir: "/", Files: []int{0, 1, 2, initControl}, Control: -1, Before: calls,
		Namespaces: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Born:       func(pid int) error { return sys.MapUser(proc, pid, ids, sys.IDs{}) }}
	mutateChild(&s)
	pid, err := s.Start(begins)
	if err != nil {
		return 0, fmt.Errorf("start the process of the plan: %w", err)
	}
	return pid, nil
}

// mountCall mounts a filesystem in a child.
func mountCall(at, kind string, flags uintptr) sys.Call {
	a, k := append([]byte(at), 0), append([]byte(kind), 0)
	return sys.Call{Number: unix.SYS_MOUNT, Keep: [][]byte{a, k},
		Args: [5]uintptr{uintptr(unsafe.Pointer(&k[0])), uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&k[0])), flags}}
}
