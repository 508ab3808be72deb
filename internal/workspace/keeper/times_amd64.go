package keeper

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// How the old calls write times.
type unit int

const (
	seconds unit = iota
	microseconds
)

// utimes serves the older calls, which have coarser times.
func (w *worker) utimes(dirfd int, at, times uint64, in unit) {
	ts, err := w.timespecs(0)
	if times != 0 {
		ts, err = w.coarseTimes(times, in)
	}
	if err != nil {
		w.pass()
		return
	}
	w.setTimes(dirfd, at, ts, 0)
}

func (r *request) coarseTimes(at uint64, in unit) ([]unix.Timespec, error) {
	if in == microseconds {
		ts, err := r.timespecs(at)
		for i := range ts {
			ts[i].Nsec *= 1000
		}
		return ts, err
	}
	var b [16]byte
	if err := r.call.Read(at, b[:]); err != nil {
		return nil, err
	}
	return []unix.Timespec{{Sec: int64(binary.NativeEndian.Uint64(b[:]))}, {Sec: int64(binary.NativeEndian.Uint64(b[8:]))}}, nil
}
