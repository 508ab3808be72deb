// Package history copies the conversations of one project between the agent on the host and
// the one inside, if the user said so.
//
// A transcript only ever grows. One side's file is continued if it is the beginning of the
// other's, and nothing else is ever written: what the two said differently since stays as it
// is on both sides, and a person is told. So no byte is lost, and no file of the host is
// replaced.
//
// What comes from inside was written by the agent. It must be a regular file with a name of
// the right shape and lines of JSON that speak of this project alone. It still is text that
// the host's agent reads: the threat model says what that means.
package history

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"

	"ringfence.dev/ringfence/internal/file"
)

// Bounds of what is copied.
const (
	maxFile  = 64 << 20
	maxFiles = 500 // the newest
)

// maxTotal is how much is read at once.
var maxTotal = 512 << 20

// Share is one directory of conversations, on the host and inside.
type Share struct {
	Host       string                   // where the host's agent has them
	Inside     func() (*os.File, error) // opens where the agent inside has them
	Trusted    func(path string) error  // whether the host's directory may be used
	Workspaces []string                 // of what the conversations may tell
	Memory     string                   // a file of ours
	Session    string                   // who copies
}

// Report is what became of the conversations.
type Report struct {
	Copied []string // names
	Left   []Left
}

// Left is one that was not copied.
type Left struct{ Name, Why string }

func (r *Report) leave(name, why string) { r.Left = append(r.Left, Left{name, why}) }

// Add joins two reports.
func (r *Report) Add(o Report) {
	r.Copied, r.Left = append(r.Copied, o.Copied...), append(r.Left, o.Left...)
}

// In copies what the host has to where the agent inside finds it.
func (s Share) In() (Report, error) {
	return s.copy(func(host, inside *side, m *memory) direction {
		return direction{from: host, to: inside, judge: s.ofHost, record: func(move) {}}
	}, false)
}

// Out copies what was said inside to where the host's agent finds it.
func (s Share) Out() (Report, error) {
	return s.copy(func(host, inside *side, m *memory) direction {
		return direction{from: inside, to: host, judge: s.ofAgent, wanted: m.wanted, record: func(mv move) { m.add(s, mv) }}
	}, true)
}

// direction is who gives to whom.
type direction struct {
	from, to *side
	judge    func(name string, text []byte, from int) error // from: where what is new begins
	wanted   func(name string, there bool, size int) bool   // nil: all are
	record   func(move)
}

// move is one file that was copied.
type move struct {
	name     string
	was, now int // its size
	text     []byte
}

func (s Share) copy(how func(host, inside *side, m *memory) direction, make bool) (r Report, err error) {
	if err := s.Trusted(s.Host); err != nil {
		return r, err
	}
	in, err := s.Inside()
	if err != nil {
		return r, err
	}
	inside := &side{dir: in}
	defer inside.close()
	if make { // what is not there yet is made for something alone
		if names, err := inside.names(); err != nil || len(names) == 0 {
			return r, err
		}
		if err := os.MkdirAll(s.Host, 0o700); err != nil {
			return r, err
		}
	}
	dir, err := os.OpenFile(s.Host, os.O_RDONLY|directoryFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	host := &side{dir: dir}
	defer host.close()
	return s.locked(host, inside, how)
}

// locked copies in turn with other sessions of the project.
func (s Share) locked(host, inside *side, how func(host, inside *side, m *memory) direction) (r Report, err error) {
	m, err := openMemory(s.Memory)
	if err != nil {
		return r, err
	}
	defer m.close()
	d := how(host, inside, m)
	names, err := d.from.names()
	if err != nil {
		return r, err
	}
	total := 0
	for _, name := range names {
		if m.same(name, host, inside) {
			continue
		}
		moved, err := d.one(name, &total)
		if errors.Is(err, errTotal) { // it is looked at again the next time
			r.leave(name, err.Error())
			break
		}
		switch {
		case err != nil:
			r.leave(name, err.Error())
		case moved != nil:
			r.Copied = append(r.Copied, name)
			d.record(*moved)
		}
		m.see(name, host, inside)
	}
	m.forget(host, inside)
	return r, m.save()
}

// errTotal ends the copying.
var errTotal = errors.New("there is too much at once: this and what is older waits")

// one copies one conversation, if there is anything to copy.
func (d direction) one(name string, total *int) (*move, error) {
	theirs, err := d.from.read(name)
	if err != nil {
		return nil, err
	}
	if *total += len(theirs); *total > maxTotal { // counted before it is judged: that takes longest
		return nil, errTotal
	}
	theirs = theirs[:bytes.LastIndexByte(theirs, '\n')+1] // another session may be writing the rest
	if len(theirs) == 0 {
		return nil, nil
	}
	ours, err := d.to.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	there := err == nil
	switch {
	case bytes.HasPrefix(ours, theirs):
		return nil, nil // it has all of it
	case !bytes.HasPrefix(theirs, ours):
		return nil, errors.New("both sides went on by themselves since it was copied")
	case d.wanted != nil && !d.wanted(name, there, len(theirs)):
		return nil, nil // it was removed there, or taken back
	}
	if err := d.judge(name, theirs, len(ours)); err != nil {
		return nil, err
	}
	if err := d.to.write(name, ours, theirs, there); err != nil {
		return nil, err
	}
	d.to.date(name, d.from)
	return &move{name, len(ours), len(theirs), theirs}, nil
}

// within holds for a directory that the project has.
func (s Share) within(dir string) bool {
	return slices.ContainsFunc(s.Workspaces, func(ws string) bool { return file.Within(dir, ws) })
}
