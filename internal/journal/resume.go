package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Append adds records to the journal of a session that has ended: what a person did
// with its work afterwards.
func Append(dir, session string, records ...Record) error {
	w, err := Resume(dir, session)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := w.Write(r); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return w.Close()
}

// Resume opens the journal of a session that has ended to write on. It must be what
// its head says. Records after a head that was never brought up to date, because
// the writer was killed, are kept, and a record says how many they are: nobody
// vouches for them.
func Resume(dir, session string) (*Writer, error) {
	if !isSession(session) {
		return nil, notSession(session)
	}
	w := Create(dir, session)
	if err := w.resume(); err != nil {
		w.letGo()
		return nil, fmt.Errorf("journal of session %s: %w", session, err)
	}
	return w, nil
}

func (w *Writer) resume() (err error) {
	if w.place, err = openDir(w.dir); err != nil {
		return err
	}
	lock, err := openFD(w.place, partName(w.session, 1), unix.O_RDWR|unix.O_APPEND)
	if err != nil {
		return err
	}
	w.lock, w.file = lock, lock
	if err := file.Lock(lock, unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
		return inUse(w.session)
	} else if err != nil {
		return err
	}
	if !file.Named(w.place, partName(w.session, 1), lock) {
		return os.ErrNotExist
	}
	if w.key, err = loadKey(sealDir(w.dir)); err != nil {
		return err
	}
	h, err := readHead(w.place, w.session, w.key)
	if errors.Is(err, os.ErrNotExist) {
		return w.withoutHead(err)
	}
	if err != nil {
		return spoiled(err)
	}
	if w.head, err = openFD(w.place, w.session+headSuffix, unix.O_RDWR); err != nil {
		return err
	}
	w.turn, w.seq, w.prev, w.part, w.size = h.Turn, h.Seq, h.Hash, h.Part, h.Size
	if err := w.findEnd(); err != nil {
		return err
	}
	unsigned, err := w.adopt()
	if err != nil {
		return err
	}
	if h.State == stateEnded {
		if unsigned > 0 {
			return spoiled(errors.New("records follow its signed end"))
		}
		return w.reopen()
	}
	return w.append(&Record{Kind: Session, Event: Lost, Count: unsigned})
}

// reopen says that a journal that has ended goes on, before anything is added to it:
// what follows an end that nobody took back was put there. The register comes first,
// and has it on the disk: an open head after an end that it knows is an older one.
func (w *Writer) reopen() error {
	w.turn++
	h := w.newHead(stateOpen)
	fds, err := enrol(sealDir(w.dir), w.key, entry{Time: w.now(), Event: resumed, Session: w.session, Seq: h.Seq, Hash: h.Hash})
	w.unsynced = append(w.unsynced, fds...)
	if err == nil {
		err = w.bring(fds)
	}
	if err != nil {
		return err
	}
	return h.put(w.head, w.key)
}

// withoutHead tells a journal of an older version from one whose head is gone.
func (w *Writer) withoutHead(gone error) error {
	var first [8]byte
	n, err := unix.Pread(w.lock, first[:], 0)
	if err == nil && string(first[:n]) == `{"v":1,"` {
		return ErrNotChained
	}
	return spoiled(gone)
}

// spoiled is the error for a journal that is not what its head says.
func spoiled(err error) error {
	return fault.New(fault.Failed, "ringfence log verify", "it is not what was signed: %w", err)
}

// findEnd opens the part that the head names and makes sure that the record which
// it signs ends where it says.
func (w *Writer) findEnd() error {
	for part := 1; part < w.part; part++ {
		var st unix.Stat_t
		if err := unix.Fstatat(w.place, partName(w.session, part), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return spoiled(err)
		}
		w.total += st.Size
	}
	w.total += w.size
	if w.part > 1 {
		fd, err := openFD(w.place, partName(w.session, w.part), unix.O_RDWR|unix.O_APPEND)
		if err != nil {
			return spoiled(err)
		}
		w.file = fd
	}
	if w.seq == 0 {
		if w.size != 0 || w.part != 1 || w.prev != header(w.session, w.key.ID()) {
			return spoiled(errHead)
		}
		return nil
	}
	buf := make([]byte, min(w.size, maxLine+2))
	if n, err := unix.Pread(w.file, buf, w.size-int64(len(buf))); err != nil || n != len(buf) || n < 2 {
		return spoiled(errors.Join(err, errors.New("it was cut")))
	}
	line := buf[bytes.LastIndexByte(buf[:len(buf)-1], '\n')+1:]
	if line[len(line)-1] != '\n' || sha256.Sum256(line[:len(line)-1]) != w.prev {
		return spoiled(errors.New("its last signed record was changed"))
	}
	return nil
}

// adopt goes on to the last whole record, cuts off what follows it, and returns how
// many records no head stands for.
func (w *Writer) adopt() (unsigned int, err error) {
	for {
		n, err := w.adoptPart()
		unsigned += n
		if err != nil {
			return unsigned, err
		}
		fd, err := openFD(w.place, partName(w.session, w.part+1), unix.O_RDWR|unix.O_APPEND)
		if errors.Is(err, os.ErrNotExist) {
			return unsigned, nil
		}
		if err != nil {
			return unsigned, err
		}
		if w.file != w.lock {
			unix.Close(w.file)
		}
		w.file, w.part, w.size = fd, w.part+1, 0
	}
}

func (w *Writer) adoptPart() (unsigned int, err error) {
	buf := make([]byte, 2*maxLine)
	for {
		n, err := unix.Pread(w.file, buf, w.size)
		if err != nil {
			return unsigned, err
		}
		stop := bytes.IndexByte(buf[:n], '\n')
		if stop < 0 && n == len(buf) {
			return unsigned, spoiled(errLong)
		}
		if stop < 0 {
			break
		}
		line := buf[:stop]
		rec, err := decode(line)
		if err != nil || rec.V != Version || rec.Session != w.session || rec.Seq != w.seq+1 || rec.Prev != w.prev {
			return unsigned, spoiled(errors.New("what follows its last signature is not chained to it"))
		}
		w.seq, w.prev = rec.Seq, sha256.Sum256(line)
		w.size += int64(stop) + 1
		w.total += int64(stop) + 1
		unsigned++
	}
	if err := unix.Ftruncate(w.file, w.size); err != nil {
		return unsigned, err
	}
	return unsigned, nil
}

func openFD(dir int, name string, flags int) (int, error) {
	f, err := openFile(dir, name, flags)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	return fd, err
}
