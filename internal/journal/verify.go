package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// The states of a journal that was verified.
const (
	Sound      = "sound"       // all of it is what was signed
	Running    = "running"     // so far
	Unfinished = "unfinished"  // its writer was killed: all that was signed is there
	Unchained  = "not chained" // of a version that cannot be verified
	Empty      = "empty"       // its writer was killed before the first record
	Removed    = "removed"     // on purpose
	Bad        = "bad"         // not what was signed
)

// Checked is what was found out about one journal.
type Checked struct {
	Session  string    `json:"session"`
	State    string    `json:"state"`
	Records  uint64    `json:"records"`            // that are chained
	Signed   uint64    `json:"signed"`             // of them, that a signature stands for
	Unsigned uint64    `json:"unsigned,omitempty"` // of them, that nobody signed before the writer was gone
	Line     int       `json:"line,omitempty"`     // where it stops being what was signed
	Finding  string    `json:"finding,omitempty"`  // why it is bad
	Start    time.Time `json:"start,omitzero"`
	Last     time.Time `json:"last,omitzero"` // of the last record that is chained
}

// Report is what was found out about all that was asked.
type Report struct {
	Key      string    `json:"key"`      // the id of the key of this host
	Register string    `json:"register"` // N:HASH of its last entry
	Findings []string  `json:"findings"` // about the register itself
	Journals []Checked `json:"journals"`
}

// Bad reports whether anything is not what was signed. What never was, or was
// rewritten in the form of a version that did not sign, is not either.
func (r *Report) Bad() bool {
	return len(r.Findings) > 0 || slices.ContainsFunc(r.Journals, func(c Checked) bool { return c.State == Bad || c.State == Unchained })
}

// Verify checks the journals in dir against their heads and against the register:
// those of the given sessions, or all that are there or should be. An anchor that
// was kept elsewhere must still be in the register.
func Verify(dir string, sessions []string, at *Anchor) (*Report, error) {
	v := &verifier{seals: sealDir(dir), dir: -1}
	var err error
	if v.key, err = loadKey(v.seals); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// What is there first, and then what should be: a session that begins or is
	// removed meanwhile is no finding.
	var there []string
	v.dir, there, _, err = sessionsIn(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if v.dir >= 0 {
		defer unix.Close(v.dir)
	}
	if v.ledger, err = readLedger(v.seals, v.key, at); err != nil {
		return nil, err
	}
	report := &Report{Findings: append([]string{}, v.ledger.found...), Journals: []Checked{}}
	report.Register = Anchor{v.ledger.n, v.ledger.hash}.String()
	if v.key != nil {
		report.Key = v.key.ID()
	}
	if sessions == nil {
		sessions = v.all(there)
	}
	for _, id := range sessions {
		report.Journals = append(report.Journals, v.check(id))
	}
	return report, nil
}

type verifier struct {
	seals  string
	dir    int // -1: there is none
	key    *Seal
	ledger *ledger
}

// all is what is there and what should be there.
func (v *verifier) all(there []string) []string {
	var out []string
	for _, id := range v.ledger.order {
		if _, here := slices.BinarySearch(there, id); here || v.ledger.sessions[id].event != removed {
			out = append(out, id)
		}
	}
	for _, id := range there {
		if _, known := v.ledger.sessions[id]; !known {
			out = append(out, id)
		}
	}
	return out
}

// check verifies one journal. A finding stands only if nobody signed a new head, and
// nobody told the register something, meanwhile.
func (v *verifier) check(session string) (c Checked) {
	for range 20 {
		before, _ := readHead(v.dir, session, v.key)
		if c = v.look(session); c.State != Bad {
			break
		}
		after, _ := readHead(v.dir, session, v.key)
		if !v.again() && (before == nil || after == nil || before.Turn == after.Turn) {
			break
		}
	}
	return c
}

// again reads the register anew if it has grown, and reports whether it did.
func (v *verifier) again() bool {
	st, err := os.Stat(filepath.Join(v.seals, registerName))
	if err != nil || st.Size() <= v.ledger.size {
		return false
	}
	l, err := readLedger(v.seals, v.key, nil)
	if err != nil {
		return false
	}
	v.ledger = l
	return true
}

// look asks first what the register says about a journal, then its head, then every
// line.
func (v *verifier) look(session string) Checked {
	c := Checked{Session: session}
	known, registered := v.ledger.sessions[session]
	var r *Reader
	err := fs.ErrNotExist
	if v.dir >= 0 {
		var own int
		if own, err = unix.FcntlInt(uintptr(v.dir), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			r, err = openReader(own, session)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && known.event == removed:
		c.State = Removed
		return c
	case errors.Is(err, fs.ErrNotExist) && registered:
		return c.bad(0, "it is gone, and nobody removed it on purpose")
	case err != nil:
		return c.bad(0, "%v", err)
	}
	defer r.Close()
	w := &walk{Checked: c, reader: r, running: running(r.first)}
	w.head, err = readHead(v.dir, session, v.key)
	if err != nil {
		return w.withoutHead(err, registered)
	}
	w.known, w.prev = known, header(session, v.key.ID())
	return w.check(registered)
}

func (c Checked) bad(line int, format string, args ...any) Checked {
	c.State, c.Line, c.Finding = Bad, line, fmt.Sprintf(format, args...)
	return c
}

// walk goes through one journal.
type walk struct {
	Checked
	reader  *Reader
	running bool
	head    *head
	known   standing
	prev    Hash // of the last line
	lines   int
}

// withoutHead judges a journal that has no head that can be taken. Those of version
// 1 have none, and of one that was made a moment ago nothing was written.
func (w *walk) withoutHead(why error, registered bool) Checked {
	line, err := w.reader.next()
	if err == io.EOF && !registered && (errors.Is(why, fs.ErrNotExist) || errors.Is(why, errHeadEmpty)) {
		w.State = Empty
		return w.Checked
	}
	if err == nil && !registered && errors.Is(why, fs.ErrNotExist) {
		if rec, err := decode(line); err == nil && rec.V == unchained && rec.Session == w.Session {
			return w.unchained(rec)
		}
	}
	return w.bad(0, "%v", why)
}

// unchained counts the records of a journal of version 1.
func (w *walk) unchained(rec Record) Checked {
	w.State, w.Start = Unchained, rec.Time
	for {
		w.Records, w.Last = w.Records+1, rec.Time
		var err error
		if rec, err = w.reader.Next(); err != nil {
			return w.Checked
		}
	}
}

func (w *walk) check(registered bool) Checked {
	w.Signed = w.head.Seq
	if registered && w.known.event == removed {
		return w.bad(0, "it was removed on purpose on %s and is here again", w.known.time.Format(time.DateOnly))
	}
	if registered && w.known.began != w.prev && w.known.began != (Hash{}) {
		return w.bad(0, "the register knows another beginning of it")
	}
	if w.head.Seq < w.known.seq {
		return w.bad(0, "it was brought back from an earlier time: its head says %d records, the register %d", w.head.Seq, w.known.seq)
	}
	if w.known.fork {
		return w.bad(0, "it went on from an earlier time than the one that the register knew: an older head was put back")
	}
	if w.head.Seq == 0 && w.head.Hash != w.prev {
		return w.bad(0, "its head signs another beginning")
	}
	for {
		line, err := w.reader.next()
		if err == io.EOF || err == errTorn && w.Records >= w.head.Seq && w.head.State == stateOpen {
			break // half a record after what was signed: its writer was killed
		}
		w.lines++
		if c, ok := w.line(line, err); !ok {
			return c
		}
	}
	return w.verdict(registered)
}

// line judges the next line.
func (w *walk) line(line []byte, err error) (Checked, bool) {
	var rec Record
	if err == nil {
		rec, err = decode(line)
	}
	switch {
	case err != nil:
		return w.bad(w.lines, "%v", err), false
	case rec.Session != w.Session:
		return w.bad(w.lines, "it is of session %q", rec.Session), false
	case rec.V != Version:
		return w.bad(w.lines, "it is of version %d, among lines that are chained", rec.V), false
	case rec.Prev != w.prev || rec.Seq != w.Records+1:
		return w.bad(w.lines, "it does not follow the line before it: one of them was changed, moved, added or removed"), false
	}
	w.prev = sha256.Sum256(line)
	w.Records = rec.Seq
	if w.Records == 1 {
		w.Start = rec.Time
	}
	if rec.Kind == Session && rec.Event == Lost {
		w.Unsigned += min(uint64(rec.Count), rec.Seq-1) // no more than there were, whatever it says
	}
	mark, marked := w.known.marks[rec.Seq]
	switch {
	case rec.Seq == w.head.Seq && w.head.Hash != w.prev:
		return w.bad(w.lines, "it, or one before it, is not the record that its head signed"), false
	case marked && mark != w.prev:
		return w.bad(w.lines, "it, or one before it, is not the record that the register signed"), false
	case rec.Seq == w.head.Seq && !w.placed():
		return w.bad(w.lines, "it does not stand where its head says"), false
	}
	w.Last = rec.Time
	return Checked{}, true
}

// placed reports whether the record that was just read ends where the head says. A
// part that was begun and took no record is empty.
func (w *walk) placed() bool {
	if w.head.Size == 0 && w.head.Part > 1 {
		return w.reader.part == w.head.Part-1
	}
	return w.reader.part == w.head.Part && w.reader.off == w.head.Size
}

// over reports whether nothing at all follows what the head signed.
func (w *walk) over() bool {
	return w.reader.part == w.head.Part && fileSize(w.reader.file) == w.head.Size
}

// verdict is given when all lines are chained.
func (w *walk) verdict(registered bool) Checked {
	tail := w.Records - min(w.head.Seq, w.Records)
	switch {
	case w.Records < w.head.Seq:
		return w.bad(w.lines, "it was cut: %d records are there, %d were signed", w.Records, w.head.Seq)
	case !registered && w.Records > 0:
		return w.bad(0, "the register does not know this session: the register was cut, or the journal was put here")
	case w.head.State == stateEnded && tail > 0:
		return w.bad(w.lines, "%d records follow its signed end", tail)
	case w.known.event == ended && w.Records > w.known.seq && w.head.State == stateOpen:
		return w.bad(w.lines, "%d records follow the end that the register knows: an older head was put back", w.Records-w.known.seq)
	case w.head.State == stateEnded && !w.over():
		return w.bad(0, "something that is no record follows its signed end")
	case w.head.State == stateEnded:
		w.State = Sound
	case w.running:
		w.State = Running
	case w.Records == 0:
		w.State = Empty
	default:
		w.State, w.Unsigned = Unfinished, w.Unsigned+tail
	}
	return w.Checked
}
