package login

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
)

// Peek returns the token that the file holds, good or not, and renews nothing. ok is
// false where the host has no such login.
func (l *Login) Peek(ctx context.Context) (t Token, ok bool, err error) {
	g, err := l.look(ctx)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNone) {
		return Token{}, false, nil
	}
	if err != nil {
		return Token{}, false, err
	}
	return g.token(), true, nil
}

// Server is the host that renews the login; "" where none is known.
func (l *Login) Server() string {
	if l.c.Endpoint == nil {
		return ""
	}
	u, err := url.Parse(l.c.Endpoint.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
