package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// system is the part of the host that this package touches, so that the same
// code runs against a fixture where the real hierarchy is not to be had.
type system struct {
	proc    string // where proc is mounted
	booted  string // a directory that exists when systemd is the init of this host
	sockets []socket
	mkdir   func(dir string) error
	rmdir   func(dir string) error
}

func hostSystem() system {
	return system{
		proc:    "/proc",
		booted:  "/run/systemd/system",
		sockets: managerSockets(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR")),
		mkdir:   func(dir string) error { return unix.Mkdir(dir, 0o755) },
		rmdir:   func(dir string) error { return unix.Rmdir(dir) },
	}
}

// maxProcFile bounds what is read of one file of proc or cgroupfs. A mount table
// of ten thousand lines fits.
const maxProcFile = 4 << 20

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return file.ReadAll(f, maxProcFile)
}

// write sets a control file in one write, as cgroupfs wants it, and never makes
// a file that the kernel did not.
func write(dir, file, value string) error {
	fd, err := unix.Open(filepath.Join(dir, file), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_, err = unix.Write(fd, []byte(value))
		unix.Close(fd)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func writable(path string) bool {
	return unix.Access(path, unix.W_OK) == nil
}

// cloneInto reports whether clone3 knows CLONE_INTO_CGROUP. The flags of the
// trial are never valid, so nothing is cloned: EINVAL comes from a kernel that
// read the whole argument, E2BIG from one older than 5.7, ENOSYS or EPERM from a
// filter.
func cloneInto() bool {
	const invalid = 0x7f // a signal number belongs in another field
	args := [11]uint64{0: unix.CLONE_INTO_CGROUP | invalid, 10: 1}
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	return errno == unix.EINVAL
}

// offerRlimit grants pids to RLIMIT_NPROC, which the inside stage sets in any
// case. The kernel never applies it to uid 0 of the initial user namespace. Only
// our own map is looked at: root of a namespace within a namespace that maps to
// the real root further out is not seen.
func (s system) offerRlimit(r *Report) {
	left := r.rest()
	left.Memory = 0
	if left.Pids == 0 {
		return
	}
	b, err := read(filepath.Join(s.proc, "self/uid_map"))
	if err != nil || realRoot(os.Getuid(), string(b)) {
		r.refuse(left, "rlimit: does not bind uid 0")
		return
	}
	r.grant(left, Rlimit)
}

// realRoot reports whether uid is uid 0 outside of the map's namespace.
func realRoot(uid int, uidMap string) bool {
	for line := range lines(uidMap) {
		var in, out, n int64
		if _, err := fmt.Sscan(line, &in, &out, &n); err != nil {
			return true
		}
		if int64(uid) >= in && int64(uid) < in+n {
			return int64(uid)-in+out == 0
		}
	}
	return true // not mapped at all: promise nothing
}

// parsePids reads cgroup.procs. A 0 stands for a process that our PID namespace
// cannot see.
func parsePids(b string) []int {
	var pids []int
	for line := range lines(b) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
