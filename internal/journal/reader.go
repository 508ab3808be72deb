package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"golang.org/x/sys/unix"
)

// Reader reads the journal of a session, which may still be written: all its parts,
// one after the other.
type Reader struct {
	session string
	dir     int
	first   *os.File // the part that its writer holds locked
	file    *os.File // the part that is read
	part    int
	store   [2 * maxLine]byte
	buf     []byte // part of store: what was read and not returned
	off     int64  // where buf begins in the part
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
	return openReader(fd, session)
}

// openReader takes the directory as its own.
func openReader(dir int, session string) (*Reader, error) {
	f, err := openFile(dir, partName(session, 1), unix.O_RDONLY)
	if err != nil {
		unix.Close(dir)
		return nil, fmt.Errorf("journal of session %s: %w", session, err)
	}
	return &Reader{session: session, dir: dir, first: f, file: f, part: 1}, nil
}

// Close closes what is open.
func (r *Reader) Close() error {
	if r.file != r.first {
		r.file.Close()
	}
	return errors.Join(r.first.Close(), unix.Close(r.dir))
}

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

// All yields the records from where the reader is, and bad lines as *BadLine errors. It
// ends after any other error.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.Next()
			var bad *BadLine
			if err == io.EOF || !yield(rec, err) || err != nil && !errors.As(err, &bad) {
				return
			}
		}
	}
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
		more := r.hasNext() // asked before the last look at this part, not after it
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
		case n == 0 && more:
			if err := r.turn(); err != nil {
				return nil, err
			}
		case r.long && more:
			r.skip(n)
		case r.long || n == 0 || !over && !more && running(r.first):
			return nil, io.EOF
		case over:
			r.skip(n)
			return nil, errTorn
		default: // the end may have been written before the writer ended: look again
			over = true
		}
	}
}

// hasNext reports whether the journal goes on in another part.
func (r *Reader) hasNext() bool {
	var st unix.Stat_t
	return r.part < maxParts && unix.Fstatat(r.dir, partName(r.session, r.part+1), &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// turn goes on to the next part.
func (r *Reader) turn() error {
	f, err := openFile(r.dir, partName(r.session, r.part+1), unix.O_RDONLY)
	if err != nil {
		return fmt.Errorf("journal of session %s: %w", r.session, err)
	}
	if r.file != r.first {
		r.file.Close()
	}
	r.file, r.off, r.long = f, 0, false
	r.part++
	return nil
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
