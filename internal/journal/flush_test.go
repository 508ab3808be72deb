package journal

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFlush: the disk is asked for only after something was written, and what it
// says is not lost.
func TestFlush(t *testing.T) {
	w, _ := create(t, session)
	var synced []int
	var answer error
	var mu sync.Mutex
	w.calls.sync = func(fd int) error {
		mu.Lock()
		defer mu.Unlock()
		synced = append(synced, fd)
		return answer
	}
	write(t, w, Record{})
	write(t, w, Record{})
	timer, dir := w.timer, w.place
	if timer == nil || len(synced) != 0 || dir < 0 {
		t.Fatalf("after two records: timer %v, synced %v", timer, synced)
	}
	// First the records, the register and the names, and then the head that says so.
	want := []int{w.file, w.unsynced[0], dir, w.head}
	stopped := timer.Stop()
	w.flushNow()
	slices.Sort(synced[:3])
	slices.Sort(want[:3])
	if !stopped || w.timer != nil || !slices.Equal(synced, want) || len(w.unsynced) != 0 {
		t.Fatalf("after a flush: timer %v, synced %v, want %v", w.timer, synced, want)
	}
	write(t, w, Record{})
	w.timer.Stop()
	answer = unix.EIO
	w.flushNow()
	for range 2 { // until a flush succeeds
		if err := w.Write(Record{}); !errors.Is(err, unix.EIO) {
			t.Errorf("after a failed flush: %v", err)
		}
	}
	if w.timer == nil {
		t.Error("nobody tries again")
	}
	w.timer.Stop()
	answer = nil
	w.flushNow()
	write(t, w, Record{})
	if w.seq != 4 || len(synced) != 7 {
		t.Errorf("%d records, synced %v", w.seq, synced)
	}
	if err := w.Close(); err != nil || len(synced) != 10 { // and the register
		t.Errorf("close: %v, synced %v", err, synced)
	}
	w.flushNow() // a timer that Close came too late to stop
	if len(synced) != 10 {
		t.Errorf("flushed after close: %v", synced)
	}
}

func TestCloseTellsOfFlush(t *testing.T) {
	for _, background := range []bool{true, false} {
		w, _ := create(t, session)
		write(t, w, Record{})
		w.calls.sync = func(int) error { return unix.EIO }
		if background {
			w.timer.Stop()
			w.flushNow()
		}
		if err := w.Close(); !errors.Is(err, unix.EIO) {
			t.Errorf("background %v: %v", background, err)
		}
	}
}
