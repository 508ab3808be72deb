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

// add notes a file that was just made by the session.
func (y *young) add(fd int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if t := time.Now(); t.Sub(y.turned) > youth || y.now == nil {
		y.now, y.then, y.turned = map[node]bool{}, y.now, t
	}
	if len(y.now) < maxYoung {
		y.now[node{st.Dev, st.Ino}] = true
	}
}

func (y *young) has(st *unix.Stat_t) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	n := node{st.Dev, st.Ino}
	return y.now[n] || y.then[n]
}

// ofHost says whether t is a young file that somebody else made. A file system that
// does not tell when a file was born cannot say.
func (y *young) ofHost(t *target) bool {
	if y.has(&t.st) {
		return false
	}
	var sx unix.Statx_t
	err := unix.Statx(t.dir, t.name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_INO, &sx)
	if err != nil || sx.Mask&unix.STATX_BTIME == 0 || sx.Ino != t.st.Ino {
		return false
	}
	born := time.Unix(sx.Btime.Sec, int64(sx.Btime.Nsec))
	return born.After(y.since) && time.Since(born) < youth
}
