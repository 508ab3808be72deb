package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Retention is which journals are kept.
type Retention struct {
	Age  time.Duration // older ones can go
	Keep int           // but never one of so many newest
	Size int64         // beyond so many bytes in all the oldest can go at any age; 0 means no bound
	Bad  bool          // also those that are not what was signed
}

// Sweep lists the sessions whose journals can go, the newest first: never one of a
// session that runs. It removes nothing. How old one is says the register: a time of
// a file can be set by who wants it to go. Those that the register does not know count
// for nothing and push nothing out. One that is not what was signed is evidence: it is
// in bad, and stays unless that is asked for.
func Sweep(dir string, now time.Time, r Retention) (stale, bad []string, err error) {
	list, err := List(dir)
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	known, err := register(dir)
	if err != nil {
		return nil, nil, err
	}
	for i, info := range list {
		if s, ok := known[info.Session]; ok {
			list[i].Start, list[i].Mod = s.start, s.time
		}
	}
	slices.SortStableFunc(list, func(a, b Info) int { return b.Start.Compare(a.Start) })
	var size int64
	n := 0
	for _, info := range list {
		old := now.Sub(info.Mod) > r.Age
		if _, ok := known[info.Session]; ok {
			n++
			old = n > r.Keep && (old || r.Size > 0 && size+info.Size > r.Size)
		}
		switch _, ok := known[info.Session]; {
		case old && !info.Running:
			stale = append(stale, info.Session)
		case ok:
			size += info.Size
		}
	}
	if len(stale) == 0 || r.Bad {
		return stale, nil, nil
	}
	report, err := Verify(dir, stale, nil)
	if err != nil {
		return nil, nil, err
	}
	stale = nil
	for _, c := range report.Journals {
		if c.State == Bad {
			bad = append(bad, c.Session)
		} else {
			stale = append(stale, c.Session)
		}
	}
	return stale, bad, nil
}

// register is what the register says about every session. It must be what was signed:
// nothing is removed on the word of another.
func register(dir string) (map[string]standing, error) {
	key, err := loadKey(sealDir(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l, err := readLedger(sealDir(dir), key, nil)
	if err != nil {
		return nil, err
	}
	if l.loose {
		return nil, fault.New(fault.Failed, "ringfence log verify", "the register of sessions is not what was signed: no record is removed")
	}
	return l.sessions, nil
}

// Remove deletes the journal of a session that does not run. The register is told
// before: what is missing without its word was taken.
func Remove(dir, session string) error {
	if !isSession(session) {
		return notSession(session)
	}
	fd, err := openDir(dir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	f, err := openFile(fd, partName(session, 1), unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	// Held until it is gone: a writer that has just made the file, and waits for
	// the lock, then finds that its name is another's.
	err = file.Lock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return inUse(session)
	}
	if err == nil && !file.Named(fd, partName(session, 1), int(f.Fd())) {
		err = fs.ErrNotExist // another has removed it, and what has its name now is new
	}
	if err == nil {
		err = strike(dir, session)
	}
	if err == nil {
		err = unlinkAll(fd, session)
	}
	if err != nil {
		return fmt.Errorf("remove the journal of session %s: %w", session, err)
	}
	return nil
}

// strike tells the register that a journal goes.
func strike(dir, session string) error {
	key, err := openSeal(dir)
	if err != nil {
		return err
	}
	fds, err := enrol(sealDir(dir), key, entry{Time: time.Now(), Event: removed, Session: session})
	for _, fd := range fds {
		if err = unix.Fsync(fd); err != nil {
			err = os.NewSyscallError("fsync", err)
		}
		unix.Close(fd)
	}
	return err
}

// unlinkAll removes the files of a session, the first part last: what a crash leaves
// is found again.
func unlinkAll(dir int, session string) error {
	for part := lastPart(dir, session); part > 1; part-- {
		if err := unix.Unlinkat(dir, partName(session, part), 0); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(dir, session+headSuffix, 0); err != nil && err != unix.ENOENT {
		return err
	}
	return unix.Unlinkat(dir, partName(session, 1), 0)
}
