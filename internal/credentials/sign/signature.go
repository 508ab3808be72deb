package sign

import (
	"context"
	"errors"
	"path/filepath"
)

// signature is what a program made.
type signature struct {
	armour  string
	key     string // fingerprint
	created string // the words after SIG_CREATED, of gpg
}

// sign has payload signed by the program of the host.
func (e *endpoint) sign(ctx context.Context, payload []byte) (signature, error) {
	if err := e.check(); err != nil {
		return signature{}, failed(err, "the host is not set up to sign with %s", e.Key.Format)
	}
	with := e.signGnuPG
	if e.Key.Format == SSH {
		with = e.signSSH
	}
	s, err := with(ctx, payload)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return signature{}, failed(err, "%s on the host did not answer within %s", filepath.Base(e.Key.Program), signTime)
	case err != nil:
		return signature{}, failed(err, "%s on the host could not sign", filepath.Base(e.Key.Program))
	}
	return s, nil
}
