package keeper

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// recent knows the files that the session made a moment ago. A recent file that it did
// not make is one that a tool of the host is about to rename, to .git/config or to
// settings: whoever has it open then writes there. Such a file is not opened for
// writing until it is older.
type recent struct {
	mu        sync.Mutex
	now, then map[node]bool
	turned    time.Time
	since     time.Time // when the session began
}

const (
	recentFor = 2 * time.Second
	maxRecent = 1 << 18
)

// node is an inode that cannot be taken for a later one of the same number.
type node struct {
	dev, ino uint64
	born     int64
}

// nodeAt names what is at a name, or behind a descriptor if name is "". ok is false
// where the file system does not tell when a file was born.
func nodeAt(dir int, name string) (n node, born time.Time, ok bool) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	var sx unix.Statx_t
	if unix.Statx(dir, name, flags, unix.STATX_BTIME|unix.STATX_INO, &sx) != nil || sx.Mask&unix.STATX_BTIME == 0 {
		return node{}, time.Time{}, false
	}
	born = time.Unix(sx.Btime.Sec, int64(sx.Btime.Nsec))
	return node{unix.Mkdev(sx.Dev_major, sx.Dev_minor), sx.Ino, born.UnixNano()}, born, true
}

// add notes a file that was just made by the session.
func (r *recent) add(fd int) {
	if n, _, ok := nodeAt(fd, ""); ok {
		r.note(n)
	}
}

func (r *recent) note(n node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := time.Now(); t.Sub(r.turned) > recentFor || r.now == nil {
		r.now, r.then, r.turned = map[node]bool{}, r.now, t
	}
	if len(r.now) < maxRecent {
		r.now[n] = true
	}
}

func (r *recent) has(n node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now[n] || r.then[n]
}

// ofHost says whether t is a recent file that somebody else made. A file system that
// does not tell when a file was born cannot say.
func (r *recent) ofHost(t *target) bool {
	n, born, ok := nodeAt(t.dir, t.name)
	return ok && born.After(r.since) && time.Since(born) < recentFor && !r.has(n)
}
