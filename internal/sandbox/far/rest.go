package far

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// How long a far end that has ended is kept for what could not be written here, how often
// this disk is looked at meanwhile, and after how long it is tried in any case.
const (
	keepEnded = 30 * time.Minute
	lookEvery = time.Second
	tryEvery  = time.Minute
)

// bringRest brings everything over once the agent has ended. What this machine cannot write is not
// lost by that: nothing runs there any more and the network is gone, so the far end can wait
// until a person has made room. A wrong word, the end of the link and the person's second stop end
// the wait, and so does its bound, which a far end cannot stretch by a try that it drags out: it
// cuts the link. Left at risk: what waits is at the far end only.
func (s *sandbox) bringRest() error {
	var first error // that it was kept for
	var until time.Time
	for {
		at, err := s.fetchLast()
		if first != nil && err != nil && s.link.Err() != nil {
			return fmt.Errorf("%w; %w", first, err)
		}
		if err == nil || !s.here(err) {
			return err
		}
		if first == nil {
			first, until = err, time.Now().Add(s.keep)
			defer time.AfterFunc(s.keep, func() { s.link.Close() }).Stop()
			s.tell(fmt.Sprintf("the agent has ended, and what it changed cannot be written to %s: %s. Make room there: it is tried again until %s. To give it up, say ringfence stop twice", filepath.Dir(at), Clean(err.Error()), until.Format(time.TimeOnly)))
		}
		if !s.awaitRoom(at, until) {
			return err
		}
	}
}

// fetchLast brings over what it can: a layer that cannot be written does not hold the others
// up. It says which one that was.
func (s *sandbox) fetchLast() (at string, err error) {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	began := time.Now()
	for n, l := range s.layers {
		if l.whole {
			continue
		}
		e := s.bring(uint16(n), l, true)
		if l.whole = e == nil; e != nil && err == nil {
			at, err = l.dir, e
		}
		if s.link.Err() != nil {
			break
		}
	}
	if err == nil {
		s.synced = began
	}
	return at, err
}

// here says that the reason is one of this machine, about which a person can do something. What
// comes over the link has no error number in it.
func (s *sandbox) here(err error) bool {
	var full *upper.Full
	if errors.As(err, &full) {
		return full.Here && s.link.Err() == nil
	}
	return s.link.Err() == nil && slices.ContainsFunc(mendable, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// mendable are the reasons that room or rights mend, or a disk that comes back. A name that this
// file system cannot have, or a kind of file, is none of them: it would fail again.
var mendable = []syscall.Errno{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EACCES, unix.EPERM, unix.EIO}

// awaitRoom waits until there is more room than now, or it is worth a try in any case. It says
// whether the far end is still there.
func (s *sandbox) awaitRoom(at string, until time.Time) bool {
	before, again := room(at), time.Now().Add(tryEvery)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.link.Done():
			return false
		case now := <-tick.C:
			if room(at).more(before) || now.After(again) || now.After(until) {
				return true
			}
		}
	}
}

// free is what of a disk is free, and whether its directory can be written.
type free struct {
	blocks, inodes uint64
	writable       bool
}

func room(dir string) (f free) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) == nil {
		f.blocks, f.inodes = st.Bavail, st.Ffree
	}
	f.writable = unix.Faccessat(unix.AT_FDCWD, filepath.Dir(dir), unix.W_OK, unix.AT_EACCESS) == nil
	return f
}

func (f free) more(than free) bool {
	return f.blocks > than.blocks || f.inodes > than.inodes || f.writable && !than.writable
}
