// Package login reads the logins that the agents' own clients keep on the host, and
// renews them. Any number of processes may ask at once: one of them renews, under a
// lock, and the others find what it wrote. What the vendors' clients hold locked is
// respected. A file is replaced whole, what ringfence does not know in it stays byte
// for byte, and nothing is ever emptied or deleted because something went wrong.
//
// Refresh tokens may be used once. So what a server answers is kept in a ledger of
// our own before the client's file is touched: a crash or a full disk in between
// loses nothing. What is left at risk: an answer that never arrives, though the
// server has counted the old token as used; a process that is killed in the moment
// between the answer and the ledger. Then the person has to log in again. And a
// client that cannot be kept from renewing (all but Claude Code) may do so at the
// same time: one of the two is refused, and ours then waits for what the other wrote.
package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"time"
)

// margin is how long before its end a token is renewed.
const margin = 5 * time.Minute

// Config says whose login it is and what it needs.
type Config struct {
	Agent     Agent
	Provider  string                  // for Opencode: the entry of its file
	Path      string                  // the client's file; see Path
	State     string                  // a directory of ours: lock and ledger; made when missing
	Transport http.RoundTripper       // dials the server that renews
	Endpoint  *Endpoint               // that server; nil is the vendor's own
	Unseen    func(path string) error // says why the file must not be used: it lies where an agent reads; may be nil
	Warn      func(error)             // told what went wrong without being an error; may be nil
	Now       func() time.Time        // nil is time.Now
}

// Login is one login of the host. Its methods may be called at the same time.
type Login struct {
	c      Config
	format format
	name   string // of our own files in State
	busy   chan struct{}
	step   func(string) // what was done; for tests that die in between

	mu    sync.Mutex
	grant grant // as it was read or renewed while the file had the stamp
	stamp stamp
	stale string    // the access token that upstream refused
	later time.Time // when an early renewal that failed may be tried again
}

// Open prepares a login and reads nothing yet.
func Open(c Config) (*Login, error) {
	f, err := formatOf(c.Agent, c.Provider)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(c.Path) || !filepath.IsAbs(c.State) {
		return nil, fmt.Errorf("open login of %s: %q and %q must be absolute", c.Agent, c.Path, c.State)
	}
	if c.Transport == nil {
		return nil, fmt.Errorf("open login of %s: no transport", c.Agent)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Unseen == nil {
		c.Unseen = func(string) error { return nil }
	}
	if c.Warn == nil {
		c.Warn = func(error) {}
	}
	if c.Endpoint == nil {
		c.Endpoint = f.endpoint
	}
	l := &Login{c: c, format: f, name: ownName(c), busy: make(chan struct{}, 1), step: func(string) {}}
	return l, nil
}

// Token returns a token that is good for a while. It renews when it must, and waits
// with that until ctx ends: the server may be away for a time. A token that is about
// to end is used as it is when it cannot be renewed at once.
func (l *Login) Token(ctx context.Context) (Token, error) {
	g, err := l.look(ctx)
	now := l.c.Now()
	switch {
	case err == nil && l.fresh(g, now):
		return g.token(), nil
	case err == nil && l.usable(g, now):
		if n, err := l.renewEarly(ctx, now); err == nil {
			return n.token(), nil
		}
		return g.token(), nil
	}
	if g, err = l.renew(ctx, false); err != nil {
		return Token{}, err
	}
	return g.token(), nil
}

// Stale says that upstream answered 401 to a token: the next call of Token returns
// another one or an error. It is an error when this one was issued only just now; the
// call after that may return it again, for upstream may have been slow to know it.
func (l *Login) Stale(t Token) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = t.Value()
}

// Format shows whose login it is, whatever the verb.
func (l *Login) Format(f fmt.State, _ rune) { io.WriteString(f, "login("+string(l.c.Agent)+")") }

// errEarly stands for an early renewal that is not tried.
var errEarly = errors.New("not now")

// renewEarly tries once, and does not try again soon when that failed: the token at
// hand is good for minutes, and every request would wait.
func (l *Login) renewEarly(ctx context.Context, now time.Time) (grant, error) {
	l.mu.Lock()
	wait := now.Before(l.later)
	l.mu.Unlock()
	if wait {
		return grant{}, errEarly
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	g, err := l.renew(ctx, true)
	if err != nil && !errors.Is(err, errLocked) {
		l.mu.Lock()
		l.later = now.Add(30 * time.Second)
		l.mu.Unlock()
		l.c.Warn(fmt.Errorf("renew login of %s before its end: %w", l.c.Agent, err))
	}
	return g, err
}

// look returns the grant in the file, which is read only when it has changed.
func (l *Login) look(ctx context.Context) (grant, error) {
	s, err := stampOf(l.c.Path)
	if err != nil {
		return grant{}, err
	}
	l.mu.Lock()
	g, known := l.grant, l.stamp == s
	l.mu.Unlock()
	if known {
		return g, nil
	}
	f, err := l.read(ctx)
	if err != nil {
		return grant{}, err
	}
	l.remember(f.grant, f.stamp)
	return f.grant, nil
}

func (l *Login) remember(g grant, s stamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grant, l.stamp = g, s
}

// fresh holds for a token that needs nothing.
func (l *Login) fresh(g grant, now time.Time) bool {
	return l.usable(g, now) && (g.expires.IsZero() || now.Before(g.expires.Add(-margin)))
}

// usable holds for a token that upstream should accept now.
func (l *Login) usable(g grant, now time.Time) bool {
	return g.access != "" && !l.isStale(g) && (g.expires.IsZero() || now.Before(g.expires))
}

func (l *Login) isStale(g grant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stale != "" && l.stale == g.access
}
