package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"ringfence.dev/ringfence/internal/fault"
)

// Record is all that was made.
type Record struct {
	Made    []string `json:"made,omitempty"` // directories, outermost first
	Shadows []Shadow `json:"shadows"`
}

// Store is where the record lies.
type Store struct{ Path string }

func (s Store) file() footprint { return footprint(s) }

// Load reads the record. There is none until something was installed.
func (s Store) Load() (Record, error) {
	data, err := s.file().Read()
	if err != nil || data == nil {
		return Record{}, err
	}
	return parse(data, s.Path)
}

// parse reads a record strictly: it says what will be removed.
func parse(data []byte, name string) (Record, error) {
	var r Record
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return Record{}, fault.New(fault.Refused, "", "%q: %w", name, err)
	}
	for _, d := range r.Made {
		if !filepath.IsAbs(d) || filepath.Clean(d) != d || d == "/" {
			return Record{}, fault.New(fault.Refused, "", "%q: %q is no directory that was made", name, d)
		}
	}
	for _, sh := range r.Shadows {
		if err := sh.check(); err != nil {
			return Record{}, fault.New(fault.Refused, "", "%q: %w", name, err)
		}
	}
	return r, nil
}

// check refuses what no shadow can be.
func (s Shadow) check() error {
	if !filepath.IsAbs(s.Dir) || filepath.Clean(s.Dir) != s.Dir || !filepath.IsAbs(s.Program) {
		return fmt.Errorf("%q is not a place for a shadow", s.String())
	}
	for _, n := range []string{s.Name, s.Agent} {
		if n == "" || n[0] == '-' || n[0] == '.' || bytes.IndexFunc([]byte(n), odd) >= 0 {
			return fmt.Errorf("%q is not a name for a shadow", n)
		}
	}
	return nil
}

// odd holds for what no name of an agent has. A script is made of names.
func odd(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

// open locks the record and reads it.
func (s Store) open() (Record, func(), error) {
	unlock, err := s.file().Lock(func(made []string) ([]byte, error) { return json.Marshal(Record{Made: made}) })
	if err != nil {
		return Record{}, nil, fault.New(fault.Refused, "", "%w", err)
	}
	r, err := s.Load()
	if err != nil {
		unlock()
	}
	return r, unlock, err
}

// save replaces the record.
func (s Store) save(r Record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(s.Path, append(data, '\n'), 0o600)
}

// close saves the record, or takes it away with all that was made for it if nothing is
// left to be taken away later.
func (s Store) close(r Record) error {
	if len(r.Shadows) > 0 {
		return s.save(r)
	}
	return s.file().Remove(r.Made)
}
