package cgroup

import (
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine is how much memory there is for us: that of the machine, or of the group
// around us where that is less. 0 if it cannot be told.
func Machine() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(info.Totalram) * int64(info.Unit)
	if lent := hostSystem().lent(); lent > 0 {
		total = min(total, lent)
	}
	return total
}

// lent is the lowest bound on memory of the groups that we are in and can see; 0 if
// there is none.
func (s system) lent() int64 {
	v, err := s.look()
	if err != nil {
		return 0
	}
	if dir, top, ok := v.v2(); ok {
		if n := lowest(dir, top, "memory.max"); n > 0 {
			return n
		}
	}
	if dir, ok := v.v1("memory"); ok {
		return lowest(dir, filepath.Dir(dir), "memory.limit_in_bytes")
	}
	return 0
}

// lowest reads one number of every group from dir up to top. "max" is none.
func lowest(dir, top, file string) (least int64) {
	for {
		if b, err := read(filepath.Join(dir, file)); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
		if dir == top || !strings.HasPrefix(dir, top) || filepath.Dir(dir) == dir {
			return least
		}
		dir = filepath.Dir(dir)
	}
}
