package keeper

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// young knows the files that the session made a moment ago. A young file that it did
// not make is one that a tool of the host is about to rename, to .git/config or to
// settings: whoever has it open then writes there. Such a file is not opened for
// writing until it is older.
type young struct {
	mu        sync.Mutex
	now, then map[node]bool
	turned    time.Time
	since     time.Time // when the session began
}

const (
	youth    = 2 * time.Second
	maxYoung = 1 << 18
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
func (y *young) add(fd int) {
	if n, _, ok := nodeAt(fd, ""); ok {
		y.note(n)
	}
}

func (y *young) note(n node) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if t := time.Now(); t.Sub(y.turned) > youth || y.now == nil {
		y.now, y.then, y.turned = map[node]bool{}, y.now, t
	}
	if len(y.now) < maxYoung {
		y.now[n] = true
	}
}

func (y *young) has(n node) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.now[n] || y.then[n]
}

// ofHost says whether t is a young file that somebody else made. A file system that
// does not tell when a file was born cannot say.
func (y *young) ofHost(t *target) bool {
	n, born, ok := nodeAt(t.dir, t.name)
	return ok && born.After(y.since) && time.Since(born) < youth && !y.has(n)
}
