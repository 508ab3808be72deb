package probe

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// descriptor is one that we did not open.
type descriptor struct {
	number int
	leads  string
}

// inherited lists the descriptors above the standard three. The runtime has its
// poller and keeps files of its cgroup open, to follow the limit of processors.
func inherited() []descriptor {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return []descriptor{{-1, err.Error()}}
	}
	var out []descriptor
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n <= 2 {
			continue
		}
		leads, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil { // it was the one that listed them
			continue
		}
		if leads == "anon_inode:[eventpoll]" || leads == "anon_inode:[eventfd]" || strings.HasPrefix(leads, "/sys/fs/cgroup/") {
			continue
		}
		out = append(out, descriptor{n, leads})
	}
	return out
}

// descriptors wants none inherited; those that lead to the canary are named first.
func descriptors(t *Target) Result {
	const name = "fds"
	for _, d := range t.inherited {
		b := make([]byte, 1<<10)
		if n, err := unix.Pread(d.number, b, 0); err == nil && t.carries(b[:n]) {
			return open(name, "the canary was read from descriptor %d", d.number)
		}
	}
	for _, d := range t.inherited {
		return open(name, "descriptor %d leads to %q", d.number, d.leads)
	}
	return closed(name, "none but the standard three")
}
