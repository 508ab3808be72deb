package sys

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Search finds the process that holds a socket.
type Search struct {
	last int // who it was last time: most likely the same again
	full time.Time
}

// Bounds of a search, whatever is inside: how long one takes, and how often it goes through
// all processes.
const (
	searchFor   = 25 * time.Millisecond
	searchEvery = 20 * time.Millisecond
)

// Holder is the process that holds a socket; 0: not found. all are those to be looked at.
func (s *Search) Holder(inode uint64, all func(deadline time.Time) []int) int {
	link := "socket:[" + strconv.FormatUint(inode, 10) + "]"
	if s.last != 0 && holds(s.last, link) {
		return s.last
	}
	if time.Since(s.full) < searchEvery {
		return 0
	}
	defer func() { s.full = time.Now() }()
	deadline := time.Now().Add(searchFor)
	for _, pid := range all(deadline) {
		if time.Now().After(deadline) {
			break
		}
		if holds(pid, link) {
			s.last = pid
			return pid
		}
	}
	return 0
}

// maxOpen bounds the descriptors that are looked at of a process.
const maxOpen = 4096

// holds reports whether a process has a socket open.
func holds(pid int, link string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, err := d.Readdirnames(maxOpen)
	if err != nil {
		return false
	}
	buf := make([]byte, 64)
	for _, n := range names {
		if size, err := unix.Readlinkat(int(d.Fd()), n, buf); err == nil && string(buf[:size]) == link {
			return true
		}
	}
	return false
}
