package undo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// op is the kind of a record.
type op byte

const (
	opHead       op = 1 + iota // the first one: which trees
	opCreated                  // a name is about to be made
	opTouch                    // an entry gets a number
	opImage                    // what of it is kept
	opRenamed                  // an entry is about to get another name
	opNotRenamed               // it did not
	_                          // was never written
	opLinked                   // an entry is about to get a second name
	opEnd                      // the session is over

	opTemp  // restore: a temporary name is about to be used
	opMove  // restore: an entry is about to be moved
	opBegin // restore: an inode is about to be changed in place
	opBack  // restore: an original is in its place again
	opDone  // restore: what was to be done is done
	opSkip  // restore: it was not done

	opLeft // what the session left in a place
)

const (
	version   = 1
	maxRecord = 64 << 10
	maxText   = 4 << 10
)

// ident tells an inode from the others of its file system, also from a later one
// with the same number where the file system says when it was born. The number of
// the device is no part of it: it may be another one after a reboot.
type ident struct{ ino, born uint64 }

// moment is a time as the file system has it.
type moment struct {
	sec  int64
	nsec uint32
}

func (m moment) after(o moment) bool { return m.sec > o.sec || m.sec == o.sec && m.nsec > o.nsec }

// image is what an entry was.
type image struct {
	ident
	kind     change.Type
	mode     uint32
	size     int64
	uid, gid uint32
	mtime    moment
	many     bool   // the inode has other names
	blob     uint32 // where its content is; 0: not here
	lost     string // why its content is not kept
	link     string // what a symbolic link says
}

type record struct {
	op       op
	trees    []string
	from, to place // records with one path use from
	dir      bool
	id       uint32
	image    image
	ident    ident // of what is moved
	end      moment
	text     string // what a file of git means
}

var kinds = []change.Type{change.File, change.Directory, change.Symlink, change.Special}

func (r *record) append(b []byte) []byte {
	b = append(b, byte(r.op))
	switch r.op {
	case opHead:
		b = binary.AppendUvarint(append(b, version), uint64(len(r.trees)))
		for _, t := range r.trees {
			b = appendText(b, t)
		}
	case opCreated:
		b = appendBool(appendPlace(b, r.from), r.dir)
	case opTouch, opTemp:
		b = appendPlace(b, r.from)
	case opImage:
		b = r.image.append(binary.AppendUvarint(b, uint64(r.id)))
	case opRenamed:
		b = appendIdent(appendBool(appendPlace(appendPlace(b, r.from), r.to), r.dir), r.ident)
	case opNotRenamed, opLinked:
		b = appendPlace(appendPlace(b, r.from), r.to)
	case opMove:
		b = appendIdent(appendPlace(appendPlace(b, r.from), r.to), r.ident)
	case opBack:
		b = binary.AppendUvarint(b, uint64(r.id))
	case opBegin:
		b = appendIdent(b, r.ident)
	case opEnd:
		b = appendMoment(b, r.end)
	case opLeft:
		b = appendText(appendIdent(appendPlace(b, r.from), r.ident), r.text)
	}
	return b
}

func (m *image) append(b []byte) []byte {
	var kind byte
	for i, k := range kinds {
		if k == m.kind {
			kind = byte(i)
		}
	}
	b = binary.AppendUvarint(append(appendIdent(b, m.ident), kind), uint64(m.mode))
	b = binary.AppendUvarint(b, uint64(m.size))
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(m.uid)), uint64(m.gid))
	b = appendBool(appendMoment(b, m.mtime), m.many)
	b = binary.AppendUvarint(b, uint64(m.blob))
	return appendText(appendText(b, m.lost), m.link)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendPlace(b []byte, s place) []byte {
	return appendText(binary.AppendUvarint(b, uint64(s.tree)), s.rel)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendIdent(b []byte, i ident) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, i.ino), i.born)
}

func appendMoment(b []byte, m moment) []byte {
	return binary.AppendUvarint(binary.AppendVarint(b, m.sec), uint64(m.nsec))
}

var errForm = errors.New("not in the form that is written")

// decoder takes a record apart. After the first thing that does not fit, bad is
// set and everything else is empty.
type decoder struct {
	b     []byte
	trees int
	bad   bool
}

// decode reads one record of a log of so many trees. It takes exactly what append
// makes: anything else does not come out the same.
func decode(b []byte, trees int) (record, error) {
	d := decoder{b: b, trees: trees}
	r := record{op: op(d.byte())}
	switch r.op {
	case opHead:
		d.head(&r)
	case opCreated:
		r.from, r.dir = d.place(maxPath), d.byte() == 1
	case opTemp:
		r.from = d.place(maxDeep)
	case opTouch:
		r.from = d.rootOrPlace()
	case opImage:
		r.id, r.image = uint32(d.uint(1<<32-1)), d.image()
	case opRenamed:
		r.from, r.to, r.dir, r.ident = d.place(maxPath), d.place(maxPath), d.byte() == 1, d.ident()
	case opNotRenamed, opLinked:
		r.from, r.to = d.place(maxPath), d.place(maxPath)
	case opMove:
		r.from, r.to, r.ident = d.place(maxDeep), d.place(maxDeep), d.ident()
	case opBegin:
		r.ident = d.ident()
	case opEnd:
		r.end = d.moment()
	case opBack:
		r.id = uint32(d.uint(1<<32 - 1))
	case opLeft:
		r.from, r.ident, r.text = d.place(maxPath), d.ident(), d.text(maxText)
	case opDone, opSkip:
	default:
		return record{}, fmt.Errorf("kind %d is not known", r.op)
	}
	if d.bad || len(d.b) > 0 || !bytes.Equal(r.append(nil), b) {
		return record{}, errForm
	}
	return r, nil
}

func (d *decoder) head(r *record) {
	if d.byte() != version {
		d.bad = true
	}
	for range d.uint(maxTrees) {
		r.trees = append(r.trees, d.text(maxText))
		if d.bad {
			return
		}
	}
}

func (d *decoder) image() image {
	m := image{ident: d.ident()}
	if k := int(d.byte()); k < len(kinds) {
		m.kind = kinds[k]
	} else {
		d.bad = true
	}
	m.mode, m.size = uint32(d.uint(0o7777)), int64(d.uint(1<<63-1))
	m.uid, m.gid = uint32(d.uint(1<<32-1)), uint32(d.uint(1<<32-1))
	m.mtime, m.many, m.blob = d.moment(), d.byte() == 1, uint32(d.uint(1<<32-1))
	m.lost, m.link = d.text(maxText), d.text(maxText)
	if m.blob != 0 && (m.kind != change.File || m.lost != "") || (m.link != "") != (m.kind == change.Symlink) {
		d.bad = true
	}
	return m
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) uint(most uint64) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > most {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) text(most int) string {
	n := int(d.uint(uint64(most)))
	if n > len(d.b) {
		d.bad, d.b = true, nil
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// place reads a place that is not the root of a tree. What a session does has a path
// for one system call; a restore also goes where directories were moved together.
func (d *decoder) place(most int) place {
	s := d.anyPlace(most)
	if checkPlain(s.rel, most) != nil {
		d.bad = true
	}
	return s
}

func (d *decoder) rootOrPlace() place {
	s := d.anyPlace(maxPath)
	if s.rel != "" && checkPath(s.rel) != nil {
		d.bad = true
	}
	return s
}

func (d *decoder) anyPlace(most int) place {
	s := place{int(d.uint(maxTrees)), d.text(most)}
	if s.tree >= d.trees {
		d.bad = true
	}
	return s
}

func (d *decoder) ident() ident {
	return ident{d.uint(1<<64 - 1), d.uint(1<<64 - 1)}
}

func (d *decoder) moment() moment {
	sec, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return moment{}
	}
	d.b = d.b[n:]
	return moment{sec, uint32(d.uint(999_999_999))}
}
