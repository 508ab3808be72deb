package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// The register is one chained file for all sessions of this host. Each line is
// signed, and the anchor, a file of its own, says how long the register is at
// least: cutting it shows.
const (
	registerName = "register.jsonl"
	anchorName   = "anchor"
)

// What the register says about a session.
const (
	begun   = "begun"   // its journal was made
	ended   = "ended"   // its journal has Seq records, and Hash is of the last
	resumed = "resumed" // its journal goes on after so many
	removed = "removed" // its journal was removed on purpose
	broken  = "broken"  // what stands before this line is not all that this host signed
)

// entry is one line of the register.
type entry struct {
	V       int       `json:"v"`
	N       uint64    `json:"n"` // from 1 on, without a gap
	Time    time.Time `json:"time"`
	Prev    Hash      `json:"prev"`
	Event   string    `json:"event"`
	Session string    `json:"session"`
	Seq     uint64    `json:"seq"`
	Hash    Hash      `json:"hash"`
	Key     string    `json:"key"`
	Sig     []byte    `json:"sig"`
}

const (
	entryVersion = 1
	maxEntry     = 1 << 10
	entryPurpose = "journal register"
)

func (e *entry) appendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"v":`...), int64(e.V), 10)
	b = strconv.AppendUint(append(b, `,"n":`...), e.N, 10)
	b = e.Time.UTC().AppendFormat(append(b, `,"time":"`...), timeForm)
	b = e.Prev.appendHex(append(b, `","prev":"`...))
	b = appendString(append(b, `","event":`...), e.Event, maxWord)
	b = appendString(append(b, `,"session":`...), e.Session, maxWord)
	b = strconv.AppendUint(append(b, `,"seq":`...), e.Seq, 10)
	b = e.Hash.appendHex(append(b, `,"hash":"`...))
	return append(append(append(b, `","key":"`...), e.Key...), '"')
}

// line is the entry as it stands in the register, without the newline.
func (e *entry) line() []byte {
	b := append(e.appendJSON(nil), `,"sig":"`...)
	return append(base64.StdEncoding.AppendEncode(b, e.Sig), `"}`...)
}

var errEntry = errors.New("not an entry in the form that is written")

// parseEntry takes exactly what line makes. It does not look at the signature.
func parseEntry(line []byte) (*entry, error) {
	if len(line) > maxEntry {
		return nil, errEntry
	}
	var e entry
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return nil, errEntry
	}
	plain := e.V == entryVersion && e.N > 0 && isSession(e.Session) && isKeyID(e.Key) && len(e.Sig) == signatureLen &&
		slices.Contains([]string{begun, ended, resumed, removed, broken}, e.Event)
	if !plain || !bytes.Equal(e.line(), line) {
		return nil, errEntry
	}
	return &e, nil
}

func (e *entry) signedBy(key *Seal) bool {
	return e.Key == key.ID() && key.Verify(entryPurpose, e.appendJSON(nil), e.Sig)
}

// enrol appends an entry to the register in dir and returns what has to be synced
// for it to last. Sessions of the same host take turns.
func enrol(dir string, key *Seal, e entry) (unsynced []int, err error) {
	fd, err := unix.Open(filepath.Join(dir, registerName), unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Join(dir, registerName), Err: err}
	}
	if err := file.Lock(fd, unix.LOCK_EX); err != nil {
		unix.Close(fd)
		return nil, err
	}
	size, err := appendEntry(fd, dir, key, &e)
	if err == nil {
		if err = putAnchor(dir, key, Anchor{e.N, sha256.Sum256(e.line())}); err != nil {
			err = errors.Join(err, unix.Ftruncate(fd, size))
		}
	}
	if err == nil {
		err = file.Lock(fd, unix.LOCK_UN)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("register of sessions: %w", err)
	}
	return []int{fd}, nil
}

// appendEntry adds the entry to the open and locked register. What a writer that
// was killed left of a line is cut off. Where the register is not the one that this
// host left, an entry that says so comes first: the session is recorded, and what
// was done stays a finding for good. It returns how long the register was.
func appendEntry(fd int, dir string, key *Seal, e *entry) (size int64, err error) {
	size, last, err := lastLine(fd)
	if err != nil {
		return 0, err
	}
	before := &entry{}
	var text []byte
	if size > 0 {
		e.Prev = sha256.Sum256(last)
		if before, err = parseEntry(last); err != nil {
			before = &entry{N: 1}
		}
	}
	if !intact(fd, dir, key, size, before, e.Prev) {
		b := entry{Time: e.Time, Event: broken, Session: e.Session}
		text = append(b.follow(before.N, e.Prev, key), '\n')
		before, e.Prev = &b, sha256.Sum256(text[:len(text)-1])
	}
	text = append(append(text, e.follow(before.N, e.Prev, key)...), '\n')
	if err := unix.Ftruncate(fd, size); err != nil {
		return 0, err
	}
	n, err := unix.Write(fd, text)
	if err == nil && n != len(text) {
		err = unix.ENOSPC
	}
	if err != nil {
		err = errors.Join(err, unix.Ftruncate(fd, size))
	}
	return size, err
}

// follow signs the entry as the one after number n, and returns its line.
func (e *entry) follow(n uint64, prev Hash, key *Seal) []byte {
	e.V, e.N, e.Prev, e.Key = entryVersion, n+1, prev, key.ID()
	e.Sig = key.Sign(entryPurpose, e.appendJSON(nil))
	return e.line()
}

// anchorLook is how far before the end of the register its anchor is looked for. It
// stands for the last entry, or for one shortly before it if its writer was killed or
// the host crashed.
const anchorLook = 64 << 10

// intact reports whether the register, of which the last entry is given, is what its
// anchor says.
func intact(fd int, dir string, key *Seal, size int64, last *entry, hash Hash) bool {
	b, err := readSmall(filepath.Join(dir, anchorName))
	if err != nil {
		return false
	}
	a, err := parseAnchorFile(b, key)
	switch {
	case err != nil:
		return false
	case size == 0:
		return a.N == 0
	case !last.signedBy(key):
		return false
	case a.N == last.N:
		return a.Hash == hash
	case a.N == 0: // it is as old as the key
		return true
	}
	buf := make([]byte, min(size, anchorLook))
	if n, err := unix.Pread(fd, buf, size-int64(len(buf))); err != nil || n != len(buf) {
		return false
	}
	for line := range bytes.Lines(buf) {
		if sha256.Sum256(trimNewline(line)) == a.Hash {
			return true
		}
	}
	return false
}

// lastLine returns the last whole line of the register and where it ends.
func lastLine(fd int) (end int64, line []byte, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, nil, err
	}
	buf := make([]byte, min(st.Size, 4*maxEntry))
	from := st.Size - int64(len(buf))
	if n, err := unix.Pread(fd, buf, from); err != nil || n != len(buf) {
		return 0, nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	stop := bytes.LastIndexByte(buf, '\n')
	if stop < 0 && from > 0 {
		return 0, nil, errEntry
	}
	if stop < 0 {
		return 0, nil, nil
	}
	start := bytes.LastIndexByte(buf[:stop], '\n') + 1
	return from + int64(stop) + 1, buf[start:stop], nil
}

const anchorPurpose = "journal anchor"

// putAnchor writes down how long the register is now.
func putAnchor(dir string, key *Seal, a Anchor) error {
	text := anchorText(a.N, a.Hash)
	line := text + " " + base64.StdEncoding.EncodeToString(key.Sign(anchorPurpose, []byte(text))) + "\n"
	fd, err := unix.Open(filepath.Join(dir, anchorName), unix.O_WRONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	n, err := unix.Pwrite(fd, []byte(line), 0)
	if err == nil && n != len(line) {
		err = io.ErrShortWrite
	}
	return err
}

// anchorText has the same length whatever it says: it is written in place.
func anchorText(n uint64, h Hash) string { return fmt.Sprintf("%020d %s", n, h) }
