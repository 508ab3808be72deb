package journal

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// pollEvery is how late a follower may be. It is a person who watches.
const pollEvery = 200 * time.Millisecond

// Follow yields the records from where the reader is, as they are written, and
// bad lines as *BadLine errors. It ends when the session has ended, when the writer
// is gone without having said so, when ctx is done, or after any other error.
func (r *Reader) Follow(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		// A file is there for a moment before its writer has locked it.
		for gone := 0; gone < 2; {
			if running(r.first) { // asked before the last look, not after it
				gone = 0
			} else {
				gone++
			}
			if !r.drain(ctx, yield) {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

// drain yields what there is and reports whether more can come.
func (r *Reader) drain(ctx context.Context, yield func(Record, error) bool) bool {
	for ctx.Err() == nil {
		rec, err := r.Next()
		if err == io.EOF {
			return true
		}
		var bad *BadLine
		if !yield(rec, err) || err != nil && !errors.As(err, &bad) {
			return false
		}
		if err == nil && rec.last() {
			return false
		}
	}
	return false
}

// last holds for the record with which a session ends. What a person does with its
// work comes after it.
func (r *Record) last() bool {
	return r.Kind == Session && r.Event == Exit || r.V == unchained && r.Event == Gate && r.State == Closed
}
