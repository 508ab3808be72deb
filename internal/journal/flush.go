package journal

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// flushAfter is how long a record may wait for the disk and for the signature. An
// fsync per record would cost a connection more than all the rest.
const flushAfter = time.Second

// flushNow runs when the timer that the first unflushed record set has expired:
// no more than once in flushAfter, and never while nothing is written. Writes go
// on meanwhile.
func (w *Writer) flushNow() {
	w.flush.Lock()
	defer w.flush.Unlock()
	w.mu.Lock()
	w.timer = nil
	if w.closed {
		w.mu.Unlock()
		return
	}
	err := w.commit(stateOpen)
	w.failed = err
	w.mu.Unlock()
}

// commit brings to the disk what was written, and then says so in the head: a head
// never stands for what may yet be lost. It is called with both locks held, and
// lets go of mu for as long as the disk takes.
func (w *Writer) commit(state string) error {
	w.turn++
	h, fd, fds, named := w.newHead(state), w.file, w.unsynced, w.named
	w.unsynced, w.named = nil, false
	w.mu.Unlock()
	first := append([]int{fd}, fds...)
	if named {
		first = append(first, w.place)
	}
	err := w.bring(first)
	if err == nil {
		err = w.sign(h)
	}
	w.mu.Lock()
	if err != nil {
		w.unsynced, w.named = append(fds, w.unsynced...), named || w.named // once more next time
		return err
	}
	for _, fd := range fds {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

// sign puts the head on the disk. One that is the last is in the register too.
func (w *Writer) sign(h *head) error {
	if err := h.put(w.head, w.key); err != nil {
		return err
	}
	var register []int
	if h.State == stateEnded {
		var err error
		if register, err = enrol(sealDir(w.dir), w.key, entry{Time: w.now(), Event: ended, Session: w.session, Seq: h.Seq, Hash: h.Hash}); err != nil {
			return err
		}
	}
	err := w.bring(append(register, w.head))
	for _, fd := range register {
		err = errors.Join(err, unix.Close(fd))
	}
	return err
}

// bring syncs all of them at once: a disk takes for several no longer than for one.
func (w *Writer) bring(fds []int) error {
	failed := make([]error, len(fds))
	var wg sync.WaitGroup
	for i, fd := range fds {
		wg.Go(func() { failed[i] = w.calls.sync(fd) })
	}
	wg.Wait()
	return errors.Join(failed...)
}

// Close brings the journal to the disk, signs its end, tells the register, and
// lets go of it. It returns what a flush since the last Write has met.
func (w *Writer) Close() error {
	w.flush.Lock()
	defer w.flush.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.file < 0 {
		return nil
	}
	return errors.Join(w.failed, w.commit(stateEnded), w.letGo())
}
