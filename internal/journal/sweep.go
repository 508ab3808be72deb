package journal

import (
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// Sweep lists the sessions whose journals can go: those not written for longer
// than olderThan, but never one of the newest keep, and never one of a session
// that runs. It removes nothing.
func Sweep(dir string, now time.Time, olderThan time.Duration, keep int) ([]string, error) {
	list, err := List(dir)
	if err != nil {
		return nil, err
	}
	var stale []string
	for i, info := range list {
		if i >= keep && !info.Running && now.Sub(info.Mod) > olderThan {
			stale = append(stale, info.Session)
		}
	}
	return stale, nil
}

// Remove deletes the journal of a session that does not run.
func Remove(dir, session string) error {
	if !isSession(session) {
		return notSession(session)
	}
	fd, err := openDir(dir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	f, err := openFile(fd, session)
	if err != nil {
		return err
	}
	defer f.Close()
	// Held until it is gone: a writer that has just made the file, and waits for
	// the lock, then finds that its name is another's.
	err = flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return fault.New(fault.Refused, "end the session first, see `ringfence ps`", "the journal of session %s is in use", session)
	}
	if err == nil && !named(fd, session+suffix, int(f.Fd())) {
		err = fs.ErrNotExist // another has removed it, and what has its name now is new
	}
	if err == nil {
		err = unix.Unlinkat(fd, session+suffix, 0)
	}
	if err != nil {
		return fmt.Errorf("remove the journal of session %s: %w", session, err)
	}
	return nil
}
