package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

const maxIdentity = 1 << 10

// lockedKey is the open file of a store's key: who writes the store holds a lock on
// it. The file is never replaced, which is what makes it good for that.
type lockedKey struct {
	*os.File
	*age.X25519Identity
}

// key opens the file of the key and checks it. The file stays open.
func (s Store) key() (*lockedKey, error) {
	f, err := os.OpenFile(s.Identity, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	id, err := readIdentity(f, s.Identity)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &lockedKey{f, id}, nil
}

func readIdentity(f *os.File, path string) (*age.X25519Identity, error) {
	if err := private(f, path, 0o077); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIdentity+1))
	if err != nil {
		return nil, openError(path, err)
	}
	id, err := parseIdentity(data)
	if err != nil {
		return nil, fault.New(fault.Refused, "bring it back from a copy: without it the store cannot be read", "%s: %w", shown(path), err)
	}
	return id, nil
}

// parseIdentity reads one line, exactly as makeIdentity writes it. The error of age
// may quote what it could not read, so it is not shown.
func parseIdentity(data []byte) (*age.X25519Identity, error) {
	line, ok := strings.CutSuffix(string(data), "\n")
	id, err := age.ParseX25519Identity(line)
	if !ok || err != nil || id.String() != line {
		return nil, errors.New("this is not the key of a store")
	}
	return id, nil
}

// makeIdentity makes the file of the key unless there is one. A link and not a rename
// puts it in place: of two who are first at once one loses, and nobody's key is lost.
func (s Store) makeIdentity() error {
	if err := os.MkdirAll(filepath.Dir(s.Identity), 0o700); err != nil {
		return err
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	if err := file.Create(s.Identity, []byte(id.String()+"\n"), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", shown(s.Identity), errors.Unwrap(err))
	}
	return nil
}
