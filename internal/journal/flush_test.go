package journal

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFlush: the disk is asked for only after something was written, and what it
// says is not lost.
func TestFlush(t *testing.T) {
	w, _ := create(t, session)
	var synced []int
	var answer error
	w.calls.sync = func(fd int) error {
		synced = append(synced, fd)
		return answer
	}
	write(t, w, Record{})
	write(t, w, Record{})
	timer, dir := w.timer, w.parent
	if timer == nil || len(synced) != 0 || dir < 0 {
		t.Fatalf("after two records: timer %v, synced %v", timer, synced)
	}
	stopped := timer.Stop()
	w.flushNow()
	if !stopped || w.timer != nil || len(synced) != 2 || synced[0] != w.file || synced[1] != dir || w.parent != -1 {
		t.Fatalf("after a flush: timer %v, synced %v", w.timer, synced)
	}
	write(t, w, Record{})
	w.timer.Stop()
	answer = unix.EIO
	w.flushNow()
	if err := w.Write(Record{}); !errors.Is(err, unix.EIO) {
		t.Errorf("after a failed flush: %v", err)
	}
	answer = nil
	write(t, w, Record{})
	if w.seq != 4 || len(synced) != 3 {
		t.Errorf("%d records, synced %v", w.seq, synced)
	}
	if err := w.Close(); err != nil || len(synced) != 4 {
		t.Errorf("close: %v, synced %v", err, synced)
	}
	w.flushNow() // a timer that Close came too late to stop
	if len(synced) != 4 {
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
