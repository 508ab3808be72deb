package overlay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// The kinds of record in a log.
const (
	opStart = "start" // the first: which layer, over which tree
	opBegin = "begin" // a path is about to be written, if Temp is given by way of that name
	opMerge = "merge" // what a path will hold is merged from both sides
	opMode  = "mode"  // a directory has a mode of our own until the end, and then this one
)

// The sides that a record can be about.
const (
	sideHost  = "host"
	sideUpper = "upper"
)

// maxRecord bounds a line: two paths in base64, and the rest.
const maxRecord = 16 << 10

// record is one line of the log. Paths are any bytes, so they are in base64.
type record struct {
	Op    string `json:"op"`
	Root  []byte `json:"root,omitempty"`
	Layer []byte `json:"layer,omitempty"`
	Side  string `json:"side,omitempty"`
	Path  []byte `json:"path,omitempty"`
	Temp  string `json:"temp,omitempty"`
	Ino   uint64 `json:"ino,omitempty"` // of what Temp changes places with
	Mode  uint32 `json:"mode,omitempty"`
	Was   string `json:"was,omitempty"`  // hash of the file in the layer
	Hash  string `json:"hash,omitempty"` // hash of the merged text
}

// journal is the open log of an apply, and what an interrupted one had in it.
type journal struct {
	file  *os.File
	path  string
	begun map[string]bool   // paths on the host
	temps []record          // temporary names that may exist
	modes map[place]uint32  // directories that may have a mode of ours
	merge map[string]record // merged texts that may have been written
}

// place is a path on one of the sides.
type place struct{ side, path string }

// openLog opens the log, alone, and reads what is in it.
func openLog(path string, l *Layer) (*journal, error) {
	j := &journal{path: path, begun: map[string]bool{}, modes: map[place]uint32{}, merge: map[string]record{}}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	j.file = f
	start := record{Op: opStart, Root: []byte(l.Root), Layer: []byte(l.Upper)}
	if err := j.resume(start); err != nil {
		f.Close()
		return nil, fmt.Errorf("log %s: %w", path, err)
	}
	return j, nil
}

// resume locks the log, reads it, and cuts off a line that was never finished.
func (j *journal) resume(start record) error {
	if err := file.Lock(int(j.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another apply is at work: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(j.file.Fd()), &st); err != nil {
		return err
	}
	if st.Nlink == 0 {
		return errors.New("another apply has just ended")
	}
	records, good, err := readLog(j.file)
	if err != nil {
		return err
	}
	if len(records) > 0 {
		if !bytes.Equal(records[0].Root, start.Root) || !bytes.Equal(records[0].Layer, start.Layer) {
			return errors.New("it is about another layer")
		}
		for _, r := range records {
			j.note(r)
		}
	}
	beforeWrite()
	if err := j.file.Truncate(good); err != nil {
		return err
	}
	if len(records) == 0 {
		if err := syncDir(j.path); err != nil {
			return err
		}
		return j.add(start)
	}
	return nil
}

// note keeps what a record means for whoever finishes the work.
func (j *journal) note(r record) {
	path := string(r.Path)
	switch r.Op {
	case opBegin:
		if r.Side == sideHost {
			j.begun[path] = true
		}
		if r.Temp != "" {
			j.temps = append(j.temps, r)
		}
	case opMerge:
		j.merge[path] = r
	case opMode:
		j.modes[place{r.Side, path}] = r.Mode
	}
}

// add writes records so that they last before anything is done about them.
func (j *journal) add(records ...record) error {
	if j == nil || len(records) == 0 {
		return nil
	}
	var out []byte
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		out = append(append(out, line...), '\n')
	}
	beforeWrite()
	if _, err := j.file.Write(out); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	if err := fsync(int(j.file.Fd())); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	return nil
}

// remove ends the log: all is done.
func (j *journal) remove() error {
	if j == nil {
		return nil
	}
	beforeWrite()
	if err := os.Remove(j.path); err != nil {
		return fmt.Errorf("remove log: %w", err)
	}
	return syncDir(j.path)
}

func (j *journal) close() {
	if j != nil {
		j.file.Close()
	}
}

// readLog reads records and says how many bytes they take. A last line without an
// end was never acted upon, and is passed over. Everything else must be exactly
// what add writes.
func readLog(r io.Reader) (records []record, good int64, err error) {
	in := bufio.NewReaderSize(r, maxRecord)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case err == io.EOF:
			return records, good, nil
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, fmt.Errorf("line %d is longer than %d bytes", n, maxRecord)
		case err != nil:
			return nil, 0, err
		}
		rec, err := decode(line[:len(line)-1])
		if err == nil && (n == 1) != (rec.Op == opStart) {
			err = fmt.Errorf("op %q is out of place", rec.Op)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		records = append(records, rec)
		good += int64(len(line))
	}
}

// decode reads one line, strictly: what is in it is unlinked, renamed and chmodded.
func decode(line []byte) (record, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	if again, err := json.Marshal(r); err != nil || !bytes.Equal(again, line) {
		return r, errors.New("not in the form that is written")
	}
	path := string(r.Path)
	bare := record{Op: r.Op, Side: r.Side, Path: r.Path}
	ok := false
	switch r.Op {
	case opStart:
		ok = len(r.Root) > 0 && len(r.Layer) > 0 && equalRecord(r, record{Op: r.Op, Root: r.Root, Layer: r.Layer})
	case opBegin:
		bare.Temp, bare.Ino = r.Temp, r.Ino
		ok = valid(path) && isSide(r.Side) && (r.Temp == "" || isTemp(r.Temp)) && equalRecord(r, bare)
	case opMode:
		bare.Mode = r.Mode
		ok = fsPath(path) && isSide(r.Side) && r.Mode <= 0o7777 && equalRecord(r, bare)
	case opMerge:
		bare.Was, bare.Hash = r.Was, r.Hash
		ok = valid(path) && r.Side == sideHost && isHash(r.Was) && isHash(r.Hash) && equalRecord(r, bare)
	}
	if !ok {
		return r, fmt.Errorf("bad record of op %q", r.Op)
	}
	return r, nil
}

func isSide(side string) bool { return side == sideHost || side == sideUpper }

func isHash(s string) bool {
	return len(s) == 64 && len(bytes.Trim([]byte(s), "0123456789abcdef")) == 0
}

func equalRecord(a, b record) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
