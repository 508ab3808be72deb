package policy

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

const (
	trustVersion = 1
	maxTrust     = 4 << 20
)

// TrustStore remembers which content of which file the user trusts. It lies in
// the state directory, which no sandbox ever sees.
type TrustStore struct{ path string }

// OpenTrust names the store at path. Nothing is read or made yet.
func OpenTrust(path string) *TrustStore { return &TrustStore{path} }

type trustFile struct {
	Version int     `json:"version"`
	Trusted []trust `json:"trusted"`
}

// trust is one decision. Root and File are quoted by strconv, because JSON has no
// way to hold a path that is not UTF-8.
type trust struct {
	Root   string `json:"root"`
	File   string `json:"file"`
	Digest string `json:"digest"`
}

func (t trust) same(o trust) bool { return t.Root == o.Root && t.File == o.File }

// Trusted reports whether exactly this content was trusted. On an error it is not.
func (s *TrustStore) Trusted(root, file, digest string) (bool, error) {
	store, err := s.read()
	if err != nil {
		return false, err
	}
	want := newTrust(root, file, digest)
	for _, t := range store.Trusted {
		if t == want {
			return true, nil
		}
	}
	return false, nil
}

// Known reports whether some content of the file was trusted.
func (s *TrustStore) Known(root, file string) (bool, error) {
	store, err := s.read()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(store.Trusted, newTrust(root, file, "").same), nil
}

// Record trusts digest for the file of root and forgets what was trusted for it
// before: who could write the file could else bring an older content back.
func (s *TrustStore) Record(root, name, digest string) error {
	want := newTrust(root, name, digest)
	if err := want.validate(); err != nil {
		return fmt.Errorf("record trust: %w", err)
	}
	return s.change(want, want)
}

// Forget ends the trust in every content of a file.
func (s *TrustStore) Forget(root, name string) error { return s.change(newTrust(root, name, "")) }

// change puts others in the place of what is recorded for a file.
func (s *TrustStore) change(of trust, others ...trust) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("record trust: %w", err)
	}
	// A file of its own, because the store itself is replaced by rename.
	lock, err := file.LockFile(s.path+".lock", unix.LOCK_EX)
	if err != nil {
		return fmt.Errorf("lock trust store: %w", err)
	}
	defer lock.Close()
	store, err := s.read()
	if err != nil {
		return err
	}
	kept := trustFile{Version: trustVersion, Trusted: []trust{}}
	for _, t := range store.Trusted {
		if !t.same(of) {
			kept.Trusted = append(kept.Trusted, t)
		}
	}
	kept.Trusted = append(kept.Trusted, others...)
	return s.write(kept)
}

func newTrust(root, file, digest string) trust {
	return trust{strconv.QuoteToASCII(root), strconv.QuoteToASCII(file), digest}
}

func (t trust) validate() error {
	if b, err := hex.DecodeString(t.Digest); err != nil || len(b) != 32 {
		return fmt.Errorf("%q is no SHA-256 digest", t.Digest)
	}
	for _, q := range []string{t.Root, t.File} {
		plain, err := strconv.Unquote(q)
		if err != nil || plain == "" || strconv.QuoteToASCII(plain) != q {
			return fmt.Errorf("%q is no quoted path", q)
		}
	}
	return nil
}

// read returns the store, empty if there is none. A store that another user could
// have written, or that is not exactly what write makes, is an error.
func (s *TrustStore) read() (*trustFile, error) {
	data, err := file.ReadOwn(s.path, maxTrust)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &trustFile{Version: trustVersion}, nil
	case errors.Is(err, file.ErrNotOurs):
		return nil, s.corrupt(file.ErrNotOurs)
	case errors.Is(err, file.ErrLong):
		return nil, s.corrupt(fmt.Errorf("larger than %d MiB", maxTrust>>20))
	case err != nil:
		return nil, fmt.Errorf("read trust store: %w", err)
	}
	store, err := decodeTrust(data)
	if err != nil {
		return nil, s.corrupt(err)
	}
	return store, nil
}

func (s *TrustStore) corrupt(err error) error {
	return fault.New(fault.Refused, "look at the file; if it cannot be mended, remove it and run ringfence trust again",
		"trust store %s: %w", printable(s.path), err)
}

func decodeTrust(data []byte) (*trustFile, error) {
	if len(data) > maxTrust {
		return nil, fmt.Errorf("larger than %d MiB", maxTrust>>20)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var store trustFile
	if err := d.Decode(&store); err != nil {
		return nil, err
	}
	if store.Version != trustVersion {
		return nil, fmt.Errorf("version %d, this ringfence reads %d", store.Version, trustVersion)
	}
	seen := map[trust]bool{}
	for _, t := range store.Trusted {
		if err := t.validate(); err != nil {
			return nil, err
		}
		file := trust{Root: t.Root, File: t.File}
		if seen[file] {
			return nil, fmt.Errorf("%s of %s is there twice", t.File, t.Root)
		}
		seen[file] = true
	}
	// The decoder is lenient about double keys and letter case, we are not.
	if again, err := encodeTrust(store); err != nil || !bytes.Equal(again, data) {
		return nil, errors.New("not as ringfence writes it")
	}
	return &store, nil
}

func encodeTrust(store trustFile) ([]byte, error) {
	data, err := json.MarshalIndent(store, "", "  ")
	return append(data, '\n'), err
}

// write replaces the store in one step that survives a power cut.
func (s *TrustStore) write(store trustFile) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write trust store: %w", err)
		}
	}()
	data, err := encodeTrust(store)
	if err != nil {
		return err
	}
	if len(data) > maxTrust {
		return errors.New("the store is full")
	}
	return file.Replace(s.path, data, 0o600)
}
