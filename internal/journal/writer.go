package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of the journal of one session: it goes on in another part when one is
// large, and there are so many parts. No part is dropped while the session runs:
// who fills a journal must not be able to push out what it says about him.
const (
	maxPart  = 16 << 20
	maxParts = 16
	maxTotal = maxPart * maxParts
)

// ErrFull means that the journal has reached its bound.
var ErrFull = errors.New("the journal is full")

// reserve is the part of a journal that records leave free. What has happened
// already is still told when no more decisions are: refusing its record would
// protect nothing.
func reserve(r *Record) int64 {
	switch {
	case r.Kind == Session, r.Event == Gate:
		return 0
	case r.Event == End, r.Event == Applied, r.Event == Waits, r.Event == Changed, r.Event == Asked, r.Event == Discarded, r.Event == Undone, r.Event == Forgotten:
		return 1 << 20
	default:
		return 8 << 20
	}
}

// calls are the system calls of a Writer that fail on a bad disk.
type calls struct {
	write    func(fd int, b []byte) (int, error)
	truncate func(fd int, size int64) error
	sync     func(fd int) error
}

// Writer appends to the journal of a session. It may be used by many goroutines.
type Writer struct {
	dir, session string
	now          func() time.Time
	calls        calls
	key          *Seal

	// Tell hears of every record that was written; it is set before the first. A
	// call may come while another is under way.
	Tell func(Record)

	mu     sync.Mutex
	closed bool
	place  int // the directory; -1 until the first record, as all that follow
	lock   int // the first part
	file   int // the part that is written
	seq    uint64
	prev   Hash  // of the last line
	part   int   // from 1 on
	size   int64 // where the last whole line ends in its part
	total  int64 // bytes of all parts
	torn   bool  // something follows the last whole line
	buf    []byte

	flush    sync.Mutex  // held while data goes to the disk; taken before mu
	timer    *time.Timer // set while there is data that is not on the disk, or not signed
	head     int         // the file of the head
	turn     uint64      // of the last head
	unsynced []int       // what a flush has to bring to the disk once, and close
	named    bool        // names were made in the directory since the last flush
	failed   error       // of the last flush: nothing is written until one succeeds
}

// Create returns the writer of a session's journal in dir. It opens nothing yet:
// the files are made with the first record.
func Create(dir, session string) *Writer {
	return &Writer{dir: dir, session: session, now: time.Now, place: -1, lock: -1, file: -1, head: -1, part: 1,
		calls: calls{unix.Write, unix.Ftruncate, unix.Fsync}}
}

// Write numbers, dates and chains the record and appends it as one line. On any
// error the record is not in the journal, and what it would have recorded must not
// happen. A later Write may succeed.
func (w *Writer) Write(r Record) error {
	w.mu.Lock()
	err := w.append(&r)
	w.mu.Unlock()
	if err != nil {
		return fmt.Errorf("journal of session %s: %w", w.session, err)
	}
	if w.Tell != nil {
		w.Tell(r)
	}
	return nil
}

func (w *Writer) append(r *Record) error {
	if w.closed {
		return os.ErrClosed
	}
	if w.failed != nil {
		w.wake()
		return w.failed
	}
	if w.file < 0 {
		if err := w.create(); err != nil {
			return err
		}
	}
	if w.torn && !w.mend() {
		return errors.New("half a record cannot be cut off")
	}
	if !known(r.Kind) {
		r.Kind = Net
	}
	r.V, r.Seq, r.Time, r.Session, r.Prev = Version, w.seq+1, w.now(), w.session, w.prev
	w.buf = append(r.AppendJSON(w.buf[:0]), '\n')
	n := int64(len(w.buf))
	if w.total+n > maxTotal-reserve(r) {
		return ErrFull
	}
	if w.size+n > maxPart {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	if err := w.put(w.buf); err != nil {
		return err
	}
	w.seq++
	w.size += n
	w.total += n
	w.prev = sha256.Sum256(w.buf[:n-1])
	w.wake()
	return nil
}

// wake sees to it that a flush comes.
func (w *Writer) wake() {
	if w.timer == nil {
		w.timer = time.AfterFunc(flushAfter, w.flushNow)
	}
}

// put writes one line, with one call unless the disk takes less: then a second
// one tells why. Of a line that was not written whole, nothing stays if the disk
// lets us.
func (w *Writer) put(line []byte) error {
	for len(line) > 0 {
		n, err := w.calls.write(w.file, line)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			w.mend()
			return err
		}
		line = line[n:]
	}
	return nil
}

// mend cuts off what follows the last whole line, and reports whether it could.
// Until then nothing is written: a line after half a line would be lost.
func (w *Writer) mend() bool {
	w.torn = w.calls.truncate(w.file, w.size) != nil
	if w.torn {
		var st unix.Stat_t
		w.torn = unix.Fstat(w.file, &st) != nil || st.Size != w.size
	}
	return !w.torn
}

// rotate goes on in another part. The one before is on the disk first: a head that
// is signed later says nothing about it any more.
func (w *Writer) rotate() error {
	if w.part >= maxParts {
		return ErrFull
	}
	if err := w.calls.sync(w.file); err != nil {
		return err
	}
	fd, err := createFile(w.place, partName(w.session, w.part+1), unix.O_APPEND)
	if err != nil {
		return err
	}
	// A flush may be using the old one: it closes it, or Close does.
	if w.file != w.lock {
		w.unsynced = append(w.unsynced, w.file)
	}
	w.file, w.part, w.size, w.named = fd, w.part+1, 0, true
	return nil
}
