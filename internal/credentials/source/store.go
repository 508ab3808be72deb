package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Store is ringfence's own store: one file, encrypted to a key in another. The two
// lie apart because people synchronise the directory of the first.
type Store struct {
	Path     string // the file in age format
	Identity string // the key
}

// maxStore bounds the file: age adds a header, and 16 bytes to each 64 KiB.
const maxStore = maxContent + maxContent/1024 + 4<<10

// Get returns one secret.
func (s Store) Get(name string) (Value, error) {
	c, err := s.read()
	if err != nil {
		return Value{}, err
	}
	text, ok := c.Secrets[name]
	if !ok {
		return Value{}, fault.New(fault.Refused, fmt.Sprintf("ringfence secret set %s", name), "secret %s is not set", shown(name))
	}
	return New(text)
}

// Names lists what is set, in order.
func (s Store) Names() ([]string, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(c.Secrets)), nil
}

// Set keeps a secret, in the place of one of that name.
func (s Store) Set(name string, v Value) error {
	if !validName(name) {
		return errors.New("this is no name for a secret")
	}
	if _, err := New(v.Reveal()); err != nil {
		return fmt.Errorf("the value cannot be kept: %w", err)
	}
	return s.change(func(c *content) bool {
		if c.Secrets[name] == v.Reveal() {
			return false
		}
		c.Secrets[name] = v.Reveal()
		return true
	})
}

// Remove forgets a secret, and reports whether there was one.
func (s Store) Remove(name string) (was bool, err error) {
	if _, err := os.Lstat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return false, nil // and no key is made for that
	}
	err = s.change(func(c *content) bool {
		_, was = c.Secrets[name]
		delete(c.Secrets, name)
		return was
	})
	return was, err
}

// read returns what is in the store; nothing is in one that was never made.
func (s Store) read() (*content, error) {
	if _, err := os.Lstat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return &content{Version: contentVersion, Secrets: map[string]string{}}, nil
	}
	key, err := s.key()
	if err != nil {
		return nil, s.keyless(err)
	}
	defer key.Close()
	return s.open(key.X25519Identity)
}

// open decrypts the store. It errs on what others could have written, and on
// everything that is not exactly a store.
func (s Store) open(id *age.X25519Identity) (*content, error) {
	data, err := readPrivate(s.Path, maxStore, 0o022)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(s.Path); lerr == nil {
			return nil, fault.New(fault.Refused, "", "the secret store %s is a symlink to nothing", shown(s.Path))
		}
		return &content{Version: contentVersion, Secrets: map[string]string{}}, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := decrypt(data, id)
	if err != nil {
		return nil, fault.New(fault.Refused, "bring it back from a copy, or move it away and set the secrets again", "secret store %s: %w", shown(s.Path), err)
	}
	return c, nil
}

func decrypt(data []byte, id *age.X25519Identity) (*content, error) {
	if len(data) > maxStore {
		return nil, fmt.Errorf("it is larger than %d MiB", maxContent>>20)
	}
	r, err := age.Decrypt(bytes.NewReader(data), id)
	var foreign *age.NoIdentityMatchError
	if errors.As(err, &foreign) {
		return nil, errors.New("it was written with another key")
	}
	if err != nil {
		return nil, errors.New("this is not a file of age, or it is damaged")
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxContent+1))
	if err != nil {
		return nil, errors.New("it is damaged")
	}
	return decodeContent(plain)
}

// keyless explains a store whose key cannot be had. No new key is ever made for it:
// the old one may be found again.
func (s Store) keyless(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Refused, fmt.Sprintf("bring the key back from a copy, or move %s away and set the secrets again", shown(s.Path)),
			"the secret store %s has lost its key, %s", shown(s.Path), shown(s.Identity))
	}
	if errors.Is(err, unix.ELOOP) {
		return fault.New(fault.Refused, "replace the link by the file", "%s is a symlink", shown(s.Identity))
	}
	return err
}

// change reads the store, lets edit change it and, if that says so, puts a new file
// in the place of the old. Others who write wait meanwhile. On an error the old file
// is still there.
func (s Store) change(edit func(*content) bool) error {
	_, err := os.Lstat(s.Path)
	_, keyErr := os.Lstat(s.Identity)
	if errors.Is(err, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist) {
		if err := s.makeIdentity(); err != nil {
			return err
		}
	}
	key, err := s.key()
	if err != nil {
		return s.keyless(err)
	}
	defer key.Close()
	if err := file.Lock(int(key.File.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock the secret store: %w", err)
	}
	c, err := s.open(key.X25519Identity)
	if err != nil || !edit(c) {
		return err
	}
	return s.write(c, key.X25519Identity)
}

func (s Store) write(c *content, id *age.X25519Identity) error {
	plain, err := c.encode()
	if err != nil {
		return err
	}
	var data bytes.Buffer
	w, err := age.Encrypt(&data, id.Recipient())
	if err != nil {
		return err
	}
	_, err = w.Write(plain)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	path, err := file.Behind(s.Path) // the file may be linked from elsewhere, and the link stays
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := file.Replace(path, data.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the secret store: %w", err)
	}
	return nil
}
