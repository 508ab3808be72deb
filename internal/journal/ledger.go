package journal

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// ledger is the register as it was read: what it says last about each session.
type ledger struct {
	n        uint64
	hash     Hash
	sessions map[string]standing
	order    []string // sessions, as they began
	size     int64    // of its file
	found    []string // what is wrong with it
	loose    bool     // its end is not signed, or not the one that the anchor knows
}

// standing is what the register says about one session.
type standing struct {
	event string          // the last
	time  time.Time       // of that
	start time.Time       // of the first
	began Hash            // what its chain began with
	seq   uint64          // how many records it had at most
	marks map[uint64]Hash // of its records, as they were signed
	fork  bool            // a record was signed that is another than before, or after an end that nobody took back
}

// readLedger reads the whole register in dir. What is wrong with it is a finding and
// not an error; reading goes on where that is possible.
func readLedger(dir string, key *Seal, at *Anchor) (*ledger, error) {
	l := &ledger{sessions: map[string]standing{}}
	f, err := os.OpenFile(filepath.Join(dir, registerName), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if f != nil {
		defer f.Close()
		// Not while an entry is being written.
		if err := file.Lock(int(f.Fd()), unix.LOCK_SH); err != nil {
			return nil, err
		}
		l.size = fileSize(f)
	}
	anchor := readAnchor(dir, key, l)
	reached := anchor == nil || anchor.N == 0 && anchor.Hash == Hash{}
	if f != nil {
		l.read(f, key, func(n uint64, h Hash) {
			reached = reached || n == anchor.N && h == anchor.Hash
			if at != nil && at.N == n && at.Hash == h {
				at = nil
			}
		})
	}
	switch {
	case f == nil && key != nil:
		l.find("it is gone")
	case anchor == nil && (f != nil || key != nil) && len(l.found) == 0:
		l.find("its anchor is gone")
	}
	if !reached {
		l.find("it was cut or replaced: entry %d is not the one that its anchor signed", anchor.N)
	}
	l.loose = l.loose || !reached || anchor == nil && (f != nil || key != nil)
	if at != nil {
		l.find("entry %d is not there, or is not %s: it was cut, replaced or brought back from an earlier time", at.N, at.Hash)
	}
	return l, nil
}

// maxFound bounds the findings: one would do.
const maxFound = 20

func (l *ledger) find(format string, args ...any) {
	if len(l.found) < maxFound {
		l.found = append(l.found, fmt.Sprintf(format, args...))
	}
}

// read follows the chain. The last signature stands for all entries before it, up to
// a place where they do not follow each other.
func (l *ledger) read(f io.Reader, key *Seal, each func(uint64, Hash)) {
	r := bufio.NewReaderSize(f, maxEntry+1)
	var last *entry
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			break // half an entry is cut off by the next writer
		}
		e, bad := parseEntry(trimNewline(line))
		switch {
		case err != nil || bad != nil:
			l.find("line %d is not an entry in the form that is written", number)
			l.hash, last = sha256.Sum256(trimNewline(line)), nil
			continue
		case e.N != l.n+1 && e.Event != broken || e.Prev != l.hash:
			l.find("line %d does not follow the one before it", number)
			l.doubt(e.Time)
		case e.Event == broken:
			l.find("line %d, of %s: what stands before it is not what this host signed", number, e.Time.Format(time.DateOnly))
			l.doubt(e.Time)
		}
		l.n, l.hash, last = e.N, sha256.Sum256(trimNewline(line)), e
		l.note(e)
		each(l.n, l.hash)
	}
	if l.loose = l.size > 0 && (last == nil || key == nil || !last.signedBy(key)); l.loose {
		l.find("its last entry was not signed by the key of this host")
	}
}

// doubt takes what was read so far for no older than the time at which it was found to
// be something else than what was signed: nothing is removed for it.
func (l *ledger) doubt(at time.Time) {
	for id, s := range l.sessions {
		if s.time.Before(at) {
			s.time = at
			l.sessions[id] = s
		}
	}
}

func (l *ledger) note(e *entry) {
	if e.Event == broken {
		return
	}
	s, known := l.sessions[e.Session]
	if !known {
		l.order = append(l.order, e.Session)
	}
	if !known || e.Event == begun && s.event == removed {
		s = standing{start: e.Time, marks: map[uint64]Hash{}}
	}
	switch e.Event {
	case begun:
		s.began = e.Hash
	case ended, resumed:
		hash, twice := s.marks[e.Seq]
		s.fork = s.fork || twice && hash != e.Hash || e.Event == ended && s.event == ended
		s.marks[e.Seq] = e.Hash
	}
	s.event, s.time, s.seq = e.Event, e.Time, max(s.seq, e.Seq)
	l.sessions[e.Session] = s
}

func fileSize(f *os.File) int64 {
	st, err := f.Stat()
	if err != nil {
		return -1
	}
	return st.Size()
}

func trimNewline(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] == '\n' {
		return b[:len(b)-1]
	}
	return b
}

// Anchor says how long the register was at some time, and what its last entry was.
// Kept elsewhere, it shows whether everything was brought back from before then.
type Anchor struct {
	N    uint64
	Hash Hash
}

// ParseAnchor reads N:HASH.
func ParseAnchor(s string) (Anchor, error) {
	n, hash, _ := strings.Cut(s, ":")
	var a Anchor
	var err error
	if a.N, err = strconv.ParseUint(n, 10, 64); err != nil || a.Hash.UnmarshalText([]byte(hash)) != nil {
		return Anchor{}, fmt.Errorf("%q is not NUMBER:HASH, as `ringfence log verify` prints it", s)
	}
	return a, nil
}

func (a Anchor) String() string { return fmt.Sprintf("%d:%s", a.N, a.Hash) }

// readAnchor reads the anchor in dir. It is nil where there is none that can be taken.
func readAnchor(dir string, key *Seal, l *ledger) *Anchor {
	b, err := readSmall(filepath.Join(dir, anchorName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return nil
	}
	if err != nil {
		l.find("its anchor cannot be read: %v", err)
		return nil
	}
	a, err := parseAnchorFile(b, key)
	if err != nil {
		l.find("its anchor %v", err)
		return nil
	}
	return &a
}

// readSmall reads a file that is never long, and waits for nobody.
func readSmall(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxEntry))
}

func parseAnchorFile(b []byte, key *Seal) (Anchor, error) {
	text, sig, ok := strings.Cut(strings.TrimSuffix(string(b), "\n"), " ")
	hash, sig, more := strings.Cut(sig, " ")
	var a Anchor
	n, err := strconv.ParseUint(text, 10, 64)
	if !ok || !more || err != nil || a.Hash.UnmarshalText([]byte(hash)) != nil {
		return a, errHead
	}
	a.N = n
	raw, err := base64.StdEncoding.Strict().DecodeString(sig)
	switch {
	case err != nil || anchorText(a.N, a.Hash)+" "+base64.StdEncoding.EncodeToString(raw)+"\n" != string(b):
		return a, errHead
	case key == nil || !key.Verify(anchorPurpose, []byte(anchorText(a.N, a.Hash)), raw):
		return a, errHeadSig
	}
	return a, nil
}
