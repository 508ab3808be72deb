package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxFile bounds the journal of one session.
const maxFile = 64 << 20

// ErrFull means that the journal has reached its bound.
var ErrFull = errors.New("the journal is full")

// reserve is the part of a journal that records of an event leave free. What has
// happened already is still told when no more decisions are: refusing its record
// would protect nothing.
func reserve(event string) int64 {
	switch event {
	case Gate:
		return 0
	case End:
		return 64 << 10
	default:
		return 4 << 20
	}
}

// tornMark ends a line that could not be cut off. The byte before the newline
// spoils it, should it lack nothing else: its Write has failed.
const tornMark = "!\n"

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

	mu     sync.Mutex
	closed bool
	file   int // -1 until the first record
	seq    uint64
	size   int64 // where the last whole line ends
	torn   bool  // something follows it
	buf    []byte

	flush  sync.Mutex  // held while data goes to the disk; taken before mu
	timer  *time.Timer // set while there is data that is not on the disk
	parent int         // the directory, until its entry is on the disk; else -1
	failed error       // of a flush, for the next Write
}

// Create returns the writer of a session's journal in dir. It opens nothing yet:
// the file is made with the first record, so that a launch costs nothing.
func Create(dir, session string) *Writer {
	return &Writer{dir: dir, session: session, now: time.Now, file: -1, parent: -1,
		calls: calls{unix.Write, unix.Ftruncate, unix.Fsync}}
}

// Write numbers and dates the record and appends it as one line. On any error
// the record is not in the journal, and what it would have recorded must not
// happen. A later Write may succeed.
func (w *Writer) Write(r Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.append(&r); err != nil {
		return fmt.Errorf("journal of session %s: %w", w.session, err)
	}
	return nil
}

func (w *Writer) append(r *Record) error {
	if w.closed {
		return os.ErrClosed
	}
	if err := w.failed; err != nil {
		w.failed = nil
		return err
	}
	if w.file < 0 {
		if err := w.open(); err != nil {
			return err
		}
	}
	if w.torn {
		w.mend()
	}
	w.buf = w.buf[:0]
	if w.torn {
		w.buf = append(w.buf, tornMark...)
	}
	r.V, r.Seq, r.Time, r.Session = Version, w.seq+1, w.now(), w.session
	if !known(r.Kind) {
		r.Kind = Net
	}
	w.buf = append(r.AppendJSON(w.buf), '\n')
	if w.size+int64(len(w.buf)) > maxFile-reserve(r.Event) {
		return ErrFull
	}
	if err := w.put(w.buf); err != nil {
		return err
	}
	w.seq++
	if w.timer == nil {
		w.timer = time.AfterFunc(flushAfter, w.flushNow)
	}
	return nil
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
	w.torn = false
	// Not the size before and the line: something torn may stand in between.
	end, err := unix.Seek(w.file, 0, io.SeekCurrent)
	if err == nil {
		w.size = end
	}
	return err
}

// mend cuts off what follows the last whole line. Where that fails it notes that
// there is something, and the next line begins with tornMark.
func (w *Writer) mend() {
	w.torn = false
	if w.calls.truncate(w.file, w.size) == nil {
		return
	}
	var st unix.Stat_t
	w.torn = unix.Fstat(w.file, &st) != nil || st.Size != w.size
}

// open makes the file. It must not be there: a name that is taken was planted,
// or belongs to another session.
func (w *Writer) open() error {
	if !isSession(w.session) {
		return notSession(w.session)
	}
	dir, err := openDir(w.dir)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(w.dir, 0o700); err == nil {
			dir, err = openDir(w.dir)
		}
	}
	if err != nil {
		return err
	}
	name := w.session + suffix
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		unix.Close(dir)
		return &os.PathError{Op: "create", Path: name, Err: err}
	}
	if err = flock(fd, unix.LOCK_EX); err == nil && !named(dir, name, fd) {
		err = errors.New("was removed while it was made")
	} else if err != nil {
		err = errors.Join(err, unix.Unlinkat(dir, name, 0))
	}
	if err != nil {
		unix.Close(fd)
		unix.Close(dir)
		return err
	}
	w.file, w.parent = fd, dir
	return nil
}
