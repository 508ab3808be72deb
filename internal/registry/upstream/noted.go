package upstream

import (
	"context"
	"io"
	"net/http"
	"time"

	"ringfence.dev/ringfence/internal/registry/store"
)

// Fresh is for how long an index is not asked for again.
const Fresh = time.Minute

// Index reads what a registry says of a name, and notes it: for a moment it is not asked
// again, then only whether it changed. Without a network what was noted is what there is.
func (s *Site) Index(ctx context.Context, keep *store.Store, kind string, q Question, most int64) (store.Note, error) {
	key := kind + " " + s.Name() + " " + q.Path + q.At
	if keep.NoteSize(key) > Large {
		if err := take(ctx); err != nil {
			return store.Note{}, err
		}
	}
	n, had := keep.Note(key)
	if had && (s.Trip == nil || time.Since(n.When) < Fresh) {
		return n, nil
	}
	q.Tag = n.Tag
	a, err := s.Get(ctx, q)
	if err != nil {
		return store.Note{}, err
	}
	if a.Status == http.StatusNotModified {
		a.Body.Close()
		n.When = time.Now()
		return n, keep.PutNote(n)
	}
	body, err := a.document(ctx, most)
	if err != nil {
		return store.Note{}, err
	}
	n = store.Note{Key: key, Tag: a.Tag, Kind: a.Kind, When: time.Now(), Body: body}
	return n, keep.PutNote(n)
}

// document reads a whole answer of at most so many bytes, a large one in its turn.
func (a *Answer) document(ctx context.Context, most int64) ([]byte, error) {
	if most <= Large {
		return a.All(most)
	}
	defer a.Body.Close()
	head, err := io.ReadAll(io.LimitReader(a.Body, Large))
	if err != nil {
		return nil, &Failure{Why: "the answer broke off"}
	}
	if len(head) < Large {
		return head, nil
	}
	if err := take(ctx); err != nil {
		return nil, err
	}
	rest, err := a.All(most - Large)
	return append(head, rest...), err
}

// Fetch puts what a registry sends into the store, under no name yet.
func (s *Site) Fetch(ctx context.Context, keep *store.Store, q Question, most int64) (*store.Incoming, error) {
	a, err := s.Get(ctx, q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	in, err := keep.Incoming()
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(in, io.LimitReader(a.Body, most+1))
	if err == nil && n <= most {
		_, err = in.Seek(0, io.SeekStart)
		return in, err
	}
	in.Discard()
	if err != nil {
		return nil, &Failure{Why: "the answer broke off"}
	}
	return nil, &Failure{Why: "the answer is longer than it can be"}
}
