package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// Record is what is kept of one server.
type Record struct {
	V        int       `json:"v"`
	Seen     time.Time `json:"seen"`    // when it was first seen
	Listed   bool      `json:"listed"`  // its tools have been listed: more of them is a change
	Trusted  time.Time `json:"trusted"` // when a person last accepted a change
	Accepted Items     `json:"accepted"`
	Offered  Items     `json:"offered,omitempty"` // what it says now and nobody accepted
}

const version = 1

// Drift lists what was offered and not accepted.
func (r *Record) Drift() []Change { return Compare(r.Accepted, r.Offered) }

// Book is the file that holds the record of one server.
type Book struct{ Path string }

// Load reads the record; nil if the server was never seen. What cannot be read is an
// error and not a first sight: who can damage the file would get everything accepted.
func (b Book) Load() (*Record, error) {
	const most = 4*MaxBytes + 1<<20 // two sets, escaped
	data, err := file.Read(b.Path, most, unix.O_NOFOLLOW)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read pins: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	r := &Record{}
	if err := d.Decode(r); err != nil || r.V != version {
		return nil, fmt.Errorf("pins in %q are damaged; remove the file to pin anew what the server says", b.Path)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("pins in %q are damaged: something follows", b.Path)
	}
	if r.Accepted == nil {
		r.Accepted = Items{}
	}
	return r, nil
}

// Update changes the record under a lock and returns it as it is then. change gets
// nil if the server was never seen, and nil from it writes nothing.
func (b Book) Update(change func(*Record) *Record) (*Record, error) {
	if err := os.MkdirAll(filepath.Dir(b.Path), 0o700); err != nil {
		return nil, err
	}
	lock, err := file.LockFile(b.Path+".lock", unix.LOCK_EX)
	if err != nil {
		return nil, fmt.Errorf("lock pins: %w", err)
	}
	defer lock.Close()
	was, err := b.Load()
	if err != nil {
		return nil, err
	}
	now := change(was)
	if now == nil {
		return was, nil
	}
	now.V = version
	if err := errors.Join(now.Accepted.fits(), now.Offered.fits()); err != nil {
		return nil, err
	}
	return now, b.write(now)
}

func (b Book) write(r *Record) error {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := file.Replace(b.Path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write pins: %w", err)
	}
	return nil
}

// ErrMoved means that what is offered is no longer what was looked at.
var ErrMoved = errors.New("the server's tools changed again meanwhile: look once more")

// Accept makes what is offered the accepted, if it is what was shown, and returns what
// changed.
func (b Book) Accept(shown Items, now time.Time) ([]Change, error) {
	var changes []Change
	var moved error
	_, err := b.Update(func(r *Record) *Record {
		if r == nil || len(r.Offered) == 0 || !reflect.DeepEqual(r.Offered, shown) {
			moved = ErrMoved
			return nil
		}
		changes = r.Drift()
		maps.Copy(r.Accepted, r.Offered)
		r.Offered, r.Trusted = nil, now.UTC()
		return r
	})
	return changes, errors.Join(err, moved)
}
