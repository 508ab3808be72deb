package journal

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// flushAfter is how long a record may wait for the disk. An fsync per record
// would cost a connection more than all the rest.
const flushAfter = time.Second

// flushNow runs when the timer that the first unflushed record set has expired:
// no more than once in flushAfter, and never while nothing is written. Writes go
// on meanwhile.
func (w *Writer) flushNow() {
	w.flush.Lock()
	defer w.flush.Unlock()
	w.mu.Lock()
	w.timer = nil
	fd, closed := w.file, w.closed
	w.mu.Unlock()
	if closed {
		return
	}
	if err := w.sync(fd); err != nil {
		w.mu.Lock()
		w.failed = err
		w.mu.Unlock()
	}
}

// sync is called with flush held.
func (w *Writer) sync(fd int) error {
	if err := w.calls.sync(fd); err != nil {
		return err
	}
	if w.parent < 0 {
		return nil
	}
	err := w.calls.sync(w.parent)
	if err == nil {
		unix.Close(w.parent)
		w.parent = -1
	}
	return err
}

// Close brings the journal to the disk and lets go of it. It returns what a
// flush since the last Write has met.
func (w *Writer) Close() error {
	w.flush.Lock()
	defer w.flush.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.file < 0 {
		return nil
	}
	err := w.failed
	if w.timer != nil {
		w.timer.Stop()
		err = errors.Join(err, w.sync(w.file))
	}
	if w.parent >= 0 {
		unix.Close(w.parent)
	}
	return errors.Join(err, unix.Close(w.file))
}
