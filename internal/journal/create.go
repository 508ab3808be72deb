package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// create makes the files of a journal: the first part, which is locked from here
// on, the head, and the entry in the register. They come in this order, so that
// the register never knows a session that has no head, and no line is written
// that the register does not know of.
func (w *Writer) create() error {
	if !isSession(w.session) {
		return notSession(w.session)
	}
	place, err := openDir(w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(w.dir, 0o700); err == nil {
			place, err = openDir(w.dir)
		}
	}
	if err != nil {
		return err
	}
	if w.key, err = openSeal(w.dir); err != nil {
		unix.Close(place)
		return err
	}
	lock, err := createLocked(place, w.session+suffix)
	if err != nil {
		unix.Close(place)
		return err
	}
	w.named, w.place, w.lock, w.prev = true, place, lock, header(w.session, w.key.ID())
	if err := w.announce(); err != nil {
		// Nobody has written to it, and the next attempt makes it anew.
		for _, name := range []string{w.session + headSuffix, w.session + suffix} {
			if e := unix.Unlinkat(place, name, 0); e != unix.ENOENT {
				err = errors.Join(err, e)
			}
		}
		w.letGo()
		return err
	}
	w.file = lock
	return nil
}

// announce makes the head and tells the register.
func (w *Writer) announce() error {
	var err error
	if w.head, err = createFile(w.place, w.session+headSuffix, 0); err != nil {
		return err
	}
	if err := w.newHead(stateOpen).put(w.head, w.key); err != nil {
		return err
	}
	fds, err := enrol(sealDir(w.dir), w.key, entry{Time: w.now(), Event: begun, Session: w.session, Hash: w.prev})
	w.unsynced = append(w.unsynced, fds...)
	return err
}

func (w *Writer) newHead(state string) *head {
	return &head{V: Version, Session: w.session, Turn: w.turn, Seq: w.seq, Hash: w.prev, Part: w.part, Size: w.size, State: state}
}

// createFile makes a file that must not be there: a name that is taken was planted,
// or belongs to another session.
func createFile(dir int, name string, flags int) (int, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, &os.PathError{Op: "create", Path: name, Err: err}
	}
	return fd, nil
}

func createLocked(dir int, name string) (int, error) {
	fd, err := createFile(dir, name, unix.O_APPEND)
	if err != nil {
		return -1, err
	}
	if err = file.Lock(fd, unix.LOCK_EX); err == nil && !file.Named(dir, name, fd) {
		err = errors.New("was removed while it was made")
	} else if err != nil {
		err = errors.Join(err, unix.Unlinkat(dir, name, 0))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// letGo closes all that is open, the lock last.
func (w *Writer) letGo() (err error) {
	fds := w.unsynced
	if w.file != w.lock {
		fds = append(fds, w.file)
	}
	for _, fd := range append(fds, w.head, w.place, w.lock) {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	w.unsynced, w.file, w.head, w.place, w.lock = nil, -1, -1, -1, -1
	return err
}

// inUse is the error for a journal whose writer lives.
func inUse(session string) error {
	return fault.New(fault.Refused, "end the session first, see `ringfence ps`", "the journal of session %s is in use", session)
}

// ErrNotChained means that a journal was written before lines were chained.
var ErrNotChained = fmt.Errorf("the journal is of version %d, which is not chained", unchained)
