package ssh

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/carrier"
	"ringfence.dev/ringfence/internal/sandbox/envelope"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/upper"
)

// fetching is how long it may take to bring over what a session left.
const fetching = time.Hour

// sealing is how long a machine may take until it begins with that: a session has 30 seconds to
// end, and then its layers are sealed, or counted where they are not.
const sealing = 15 * time.Minute

// Fetch brings over what a session left on another machine that has lost its link, into the
// layers of the review here, and lets that machine forget it. One that still waits for its
// link is ended first. dir is the directory of the session. It returns what a person is to
// know.
func Fetch(ctx context.Context, dir string) (notes []string, err error) {
	n, err := readNote(dir)
	if err != nil {
		return nil, err
	}
	if notes, err = n.fetch(ctx, place{host: n.Host, find: findOwn}, dir); err == nil {
		forget(dir)
	}
	return notes, err
}

func (n *note) fetch(ctx context.Context, p place, dir string) (notes []string, err error) {
	said, c, err := p.ask(ctx, order{Do: doFetch, Session: n.Session})
	if err == nil && said.State == stateLives {
		err = carrier.Dismiss(c, n.Secret)
		c.Close()
		if err != nil {
			return nil, fault.New(fault.Failed, "try it again", "the session on %s could not be ended: %w", n.Host, err)
		}
		said, c, err = p.ask(ctx, order{Do: doFetch, Session: n.Session, Wait: true})
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if said.Left == nil {
		return nil, fault.New(fault.Failed, "ringfence rm "+n.Session+" --discard forgets the session", "nothing of session %s is on %s, by its word", n.Session, n.Host)
	}
	stop := c.within(ctx, fetching)
	defer stop()
	if notes, err = n.take(c, dir, said.Left); err != nil {
		return nil, fault.New(fault.Failed, "try it again; it is kept there until all of it came", "what session %s left on %s cannot be taken: %w", n.Session, n.Host, err)
	}
	how := "sealed"
	if said.Left.Unsealed {
		how = "not sealed"
		notes = append(notes, fmt.Sprintf("what it left on %s was not sealed: its end there was killed, had no room, or could not end the session in time. Others who have that machine could read and change it", n.Host))
	}
	if _, err := c.order(order{Do: doForget}); err != nil {
		notes = append(notes, fmt.Sprintf("what it left is perhaps still on %s, %s: %v", n.Host, how, err))
	}
	return notes, nil
}

// ask dials, and says one thing.
func (p place) ask(ctx context.Context, o order) (answer, *conn, error) {
	c, err := p.dial(ctx)
	if err != nil {
		return answer{}, nil, err
	}
	c.again = "ringfence attach " + o.Session + " tries again: it is kept there until all of it came"
	stop := c.within(ctx, sealing)
	defer stop()
	said, err := c.order(o)
	if err != nil {
		c.Close()
		return answer{}, nil, err
	}
	return said, c, nil
}

// take opens what was sealed, one layer after the other, and puts them in their places when all
// of them are whole. A machine that says that nothing was sealed can send what it likes, as it
// can over the link.
func (n *note) take(from io.Reader, dir string, has *left) (notes []string, err error) {
	sizes := has.Sizes
	key, err := envelope.ParseKey(n.Key)
	if err != nil {
		return nil, err
	}
	if len(sizes) != len(n.Layers) {
		return nil, wrong("another number of layers than the session has")
	}
	var taken []*far.Waited
	defer func() {
		for _, t := range taken {
			t.Drop()
		}
	}()
	for i, l := range n.Layers {
		if sizes[i] < 0 || sizes[i] > 2*upper.Most.Bytes {
			return nil, wrong("a layer of a size that none has")
		}
		plain := io.LimitReader(from, sizes[i])
		if !has.Unsealed {
			if plain, err = key.Open(plain, purpose(n.Session, i, len(n.Layers))); err != nil {
				return nil, err
			}
		}
		t, err := far.Take(plain, filepath.Join(dir, string(l)), n.over(i))
		if err != nil {
			return nil, err
		}
		taken = append(taken, t)
	}
	for _, t := range taken {
		text, err := t.Place()
		if err != nil {
			return nil, err
		}
		if text != "" {
			notes = append(notes, text)
		}
	}
	return notes, nil
}
