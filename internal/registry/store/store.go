// Package store keeps what was fetched from package registries, once for all projects.
// The supervisor alone writes it; sandboxes do not see it.
//
// A blob has the name of its digest, and gets it when the store itself has computed that
// digest: nothing that merely claims to be something is kept. A note is what a registry
// said about names; its key says which registry, so that one never speaks for another.
//
// To know a digest is no right to the blob: whoever has a registry of his own can have it
// name any digest. So blobs of the public registries, which they give to everybody, are for
// all, and those of any other registry are for sessions that use the same one, in the same
// way, with a login or without.
//
// Left at risk: who writes as the user on the host can write here as everywhere else.
package store

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// Store is one directory.
type Store struct {
	dir string
	own string // the registry whose blobs these are; "": blobs that are for all
}

// Of is the store as a session that uses a registry sees it.
func (s *Store) Of(registry string) *Store {
	sum := sha256.Sum256([]byte(registry))
	return &Store{s.dir, hex.EncodeToString(sum[:16])}
}

// At is the store below the directory of ringfence's state. Nothing is made until
// something is kept.
func At(state string) *Store { return &Store{dir: filepath.Join(state, "registry")} }

// Filled reports whether anything was ever kept.
func (s *Store) Filled() bool {
	_, err := os.Lstat(s.dir)
	return err == nil
}

// Incoming is what is being fetched: a file that has no name yet.
type Incoming struct {
	*os.File
	path string
}

// Incoming begins a blob. It is discarded unless it is kept.
func (s *Store) Incoming() (*Incoming, error) {
	dir := filepath.Join(s.dir, "new")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, file.Temporary+rand.Text())
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	return &Incoming{f, path}, nil
}

// Discard forgets a blob that was not kept.
func (in *Incoming) Discard() {
	in.Close()
	os.Remove(in.path)
}

// ErrDigest is a blob that is not what its digest says.
var ErrDigest = errors.New("it is not what its checksum says")

// Keep gives a blob the name of a digest, if that is what it is. The file stays open, at
// its beginning.
func (s *Store) Keep(in *Incoming, d Digest) error {
	if err := d.Check(in.File); err != nil {
		return err
	}
	if !d.Proves() {
		return nil
	}
	to := s.blob(s.own, d)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := in.Sync(); err != nil { // a torn file must never have the name
		return err
	}
	if err := os.Rename(in.path, to); err != nil {
		return err
	}
	_, err := in.Seek(0, io.SeekStart)
	return err
}

// Blob opens what a digest names.
func (s *Store) Blob(d Digest) (*os.File, error) {
	if !d.Proves() {
		return nil, fs.ErrNotExist
	}
	f, err := os.OpenFile(s.blob(s.own, d), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil && s.own != "" {
		f, err = os.OpenFile(s.blob("", d), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return nil, err
	}
	touch(f.Name())
	return f, nil
}

// Import keeps what a file of the host has, if it is what the digest says.
func (s *Store) Import(path string, d Digest, most int64) (*os.File, error) {
	in, err := s.copied(path, most)
	if err != nil {
		return nil, err
	}
	if err := s.Keep(in, d); err != nil {
		in.Discard()
		return nil, err
	}
	return in.File, nil
}

// Borrow is what a file of the host has, if it is what the digest says. It is not kept.
func (s *Store) Borrow(path string, d Digest, most int64) (*os.File, error) {
	in, err := s.copied(path, most)
	if err != nil {
		return nil, err
	}
	if err := d.Check(in.File); err != nil {
		in.Discard()
		return nil, err
	}
	os.Remove(in.path)
	return in.File, nil
}

// copied is a file of the host, under no name: nobody changes it while it is looked at.
func (s *Store) copied(path string, most int64) (*Incoming, error) {
	from, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	if st, err := from.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > most {
		return nil, fs.ErrInvalid
	}
	in, err := s.Incoming()
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(in, io.LimitReader(from, most)); err != nil {
		in.Discard()
		return nil, err
	}
	return in, nil
}

func (s *Store) blob(own string, d Digest) string {
	whose := "public"
	if own != "" {
		whose = "of-" + own
	}
	return filepath.Join(s.dir, "blobs", whose, string(d.Kind), d.Sum[:2], d.Sum)
}

// touch says that a file was used: what was not is the first to go.
func touch(path string) {
	now := time.Now()
	os.Chtimes(path, now, now)
}

// Note is what a registry said.
type Note struct {
	Key  string    `json:"key"`
	Tag  string    `json:"tag,omitempty"` // the registry's ETag
	Kind string    `json:"kind,omitempty"`
	When time.Time `json:"when"`
	Body []byte    `json:"-"`
}

// maxNote bounds a note: indexes of popular packages have many megabytes.
const maxNote = 96 << 20

// Note reads what was noted under a key.
func (s *Store) Note(key string) (Note, bool) {
	path := s.note(key)
	data, err := file.Read(path, maxNote, unix.O_NOFOLLOW)
	if err != nil {
		return Note{}, false
	}
	head, body, ok := bytes.Cut(data, []byte("\n"))
	var n Note
	if !ok || json.Unmarshal(head, &n) != nil || n.Key != key {
		return Note{}, false
	}
	n.Body = body
	touch(path)
	return n, true
}

// NoteSize is how large a note is; 0: there is none.
func (s *Store) NoteSize(key string) int64 {
	st, err := os.Lstat(s.note(key))
	if err != nil {
		return 0
	}
	return st.Size()
}

// PutNote notes something, in the place of what was noted under its key.
func (s *Store) PutNote(n Note) error {
	head, err := json.Marshal(n)
	if err != nil {
		return err
	}
	path := s.note(n.Key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return file.Replace(path, append(append(head, '\n'), n.Body...), 0o600)
}

func (s *Store) note(key string) string {
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(s.dir, "notes", name[:2], name)
}
