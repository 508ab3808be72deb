package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Reader reads the journal of a session, which may still be written.
type Reader struct {
	session string
	file    *os.File
	store   [4 * maxLine]byte
	buf     []byte // part of store: what was read and not returned
	off     int64  // where buf begins in the file
	line    int    // lines returned
	long    bool   // in the middle of a line that was returned as too long
}

// Open opens the journal of a session in dir.
func Open(dir, session string) (*Reader, error) {
	if !isSession(session) {
		return nil, notSession(session)
	}
	fd, err := openDir(dir)
	if err != nil {
		return nil, fmt.Errorf("journal of session %s: %w", session, err)
	}
	defer unix.Close(fd)
	return openReader(fd, session)
}

func openReader(dir int, session string) (*Reader, error) {
	f, err := openFile(dir, session)
	if err != nil {
		return nil, fmt.Errorf("journal of session %s: %w", session, err)
	}
	return &Reader{session: session, file: f}, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Next returns the next record, or io.EOF when there is none yet. A *BadLine
// stands for a line that is no record; the next call goes on after it. Any other
// error is final.
func (r *Reader) Next() (Record, error) {
	line, err := r.next()
	if err != nil && err != errTorn && err != errLong {
		return Record{}, err
	}
	r.line++
	var rec Record
	if err == nil {
		rec, err = decode(line)
	}
	if err == nil && rec.Session != r.session {
		err = fmt.Errorf("of session %q", rec.Session)
	}
	if err != nil {
		return Record{}, &BadLine{r.line, err}
	}
	return rec, nil
}

// next returns the next line without its newline.
func (r *Reader) next() ([]byte, error) {
	for over := false; ; {
		if i := bytes.IndexByte(r.buf, '\n'); i >= 0 {
			line := r.buf[:i]
			r.skip(i + 1)
			switch {
			case r.long:
				r.long = false
				continue
			case i > maxLine:
				return nil, errLong
			}
			return line, nil
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
		switch n := len(r.buf); {
		case bytes.IndexByte(r.buf, '\n') >= 0:
		case n > maxLine:
			r.skip(n)
			if !r.long {
				r.long = true
				return nil, errLong
			}
		case r.long || n == 0 || !over && running(r.file):
			return nil, io.EOF
		case over:
			r.skip(n)
			return nil, errTorn
		default: // the end may have been written before the writer ended: look again
			over = true
		}
	}
}

func (r *Reader) skip(n int) {
	r.buf = r.buf[n:]
	r.off += int64(n)
}

// fill reads anew from the first byte that was not returned. A line is never put
// together from two reads: its writer may have cut off a torn one in between.
func (r *Reader) fill() error {
	n, err := r.file.ReadAt(r.store[:], r.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("journal of session %s: %w", r.session, err)
	}
	r.buf = r.store[:n]
	return nil
}
