package source

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// margin is how long before their end credentials are renewed: clients ask again
// some minutes before, and the same answer would not help them.
const margin = 5 * time.Minute

// patience is how long one question to STS may take.
const roleWait = 30 * time.Second

// pause is for how long a failure is remembered, so that a client that asks all
// the time does not make the host do the same.
const pause = 5 * time.Second

// question is one question to STS that any number of clients wait for.
type question struct {
	done  chan struct{} // closed when what follows is set
	held  credentials
	err   error
	ended time.Time
}

// credentials returns what is held, or renews it. asked tells whether this call
// began the question.
func (h *roleHandler) credentials(ctx context.Context) (c credentials, asked bool, err error) {
	if h.config.Static {
		c, err := h.static(ctx)
		return c, true, err
	}
	h.mu.Lock()
	q := h.last
	if q == nil || h.stale(q) {
		q, asked = &question{done: make(chan struct{})}, true
		h.last = q
		go h.ask(q)
	}
	h.mu.Unlock()
	select {
	case <-q.done:
		return q.held, asked, q.err
	case <-ctx.Done():
		return credentials{}, asked, errors.New("the client went away")
	}
}

// stale reports whether a question has ended and its answer is of no more use.
func (h *roleHandler) stale(q *question) bool {
	select {
	case <-q.done:
	default:
		return false
	}
	now := h.config.Now()
	if q.err != nil {
		return now.Sub(q.ended) >= pause
	}
	return q.held.expires.Sub(now) <= margin
}

// ask does not end with the client that began it: others may wait.
func (h *roleHandler) ask(q *question) {
	ctx, cancel := context.WithTimeout(context.Background(), roleWait)
	defer cancel()
	defer close(q.done)
	k, err := h.keys(ctx)
	if err == nil {
		q.held, err = h.assume(ctx, k)
	}
	q.err, q.ended = err, h.config.Now()
}

func (h *roleHandler) keys(ctx context.Context) (keys, error) {
	id, secret, token, err := h.config.Keys(ctx)
	if err != nil {
		return keys{}, fmt.Errorf("read keys: %w", err)
	}
	if !plain(id) || !plain(secret) || (token != "" && !plain(token)) {
		return keys{}, errors.New("read keys: what the source holds is not a pair of keys")
	}
	return keys{id, secret, token}, nil
}

// static hands out what the source holds.
func (h *roleHandler) static(ctx context.Context) (credentials, error) {
	k, err := h.keys(ctx)
	return credentials{keys: k}, err
}
