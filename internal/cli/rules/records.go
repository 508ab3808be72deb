package rules

import (
	"errors"
	"io"
	"iter"

	"ringfence.dev/ringfence/internal/journal"
)

// records yields what a journal has, without lines that are no records: who wants to
// hear of those asks ringfence log.
func records(r *journal.Reader) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		for {
			rec, err := r.Next()
			var bad *journal.BadLine
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.As(err, &bad):
				continue
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}
