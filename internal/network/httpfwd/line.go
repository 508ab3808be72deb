package httpfwd

import (
	"bufio"
	"io"
	"sync"
)

// scanner collects the lines of one head, or of the trailers of one body. It is
// pooled: nothing of it is kept in a Head.
type scanner struct {
	r     *bufio.Reader
	buf   []byte // the lines, without their CRLF
	read  int    // bytes consumed
	most  int    // of them
	lines []span
}

// span is a field's line in scanner.buf.
type span struct{ start, colon, end int }

var scanners = sync.Pool{New: func() any { return &scanner{buf: make([]byte, 0, 2048)} }}

// scan gives f a scanner that consumes at most most bytes of r.
func scan(r *bufio.Reader, most int, f func(*scanner) error) error {
	s := scanners.Get().(*scanner)
	s.r, s.buf, s.read, s.most, s.lines = r, s.buf[:0], 0, most, s.lines[:0]
	err := f(s)
	s.r = nil
	scanners.Put(s)
	return err
}

// line reads one line of at most most bytes and returns where it begins in s.buf.
// A line may be longer than the reader's buffer. The first error is io.EOF only if
// nothing at all was read.
func (s *scanner) line(most int, status int) (start int, err error) {
	start = len(s.buf)
	for {
		part, err := s.r.ReadSlice('\n')
		s.read += len(part)
		if len(s.buf)-start+len(part) > most+len("\r\n") {
			return 0, &Error{status, "a line is too long"}
		}
		if s.read > s.most {
			return 0, &Error{FieldsTooLarge, "there are too many bytes of fields"}
		}
		s.buf = append(s.buf, part...)
		switch {
		case err == nil:
			return start, s.trim(start)
		case err == io.EOF && s.read == 0:
			return 0, io.EOF
		case err != bufio.ErrBufferFull:
			return 0, cutOff(err)
		}
	}
}

// trim takes the CRLF off the line that begins at start. A lone LF ends a line for
// some readers and not for others, and so does a lone CR, which no class of bytes
// has.
func (s *scanner) trim(start int) error {
	n := len(s.buf)
	if n-start < 2 || s.buf[n-2] != '\r' {
		return bad("a line does not end in CRLF")
	}
	s.buf = s.buf[:n-2]
	return nil
}

// fields reads lines of fields up to and including the empty line. They are
// checked one by one, so that a client that waits for an answer to a bad line gets
// it.
func (s *scanner) fields(most int) error {
	for {
		start, err := s.line(s.most, FieldsTooLarge)
		if err != nil {
			return cutOff(err)
		}
		if len(s.buf) == start {
			return nil
		}
		if len(s.lines) == most {
			return &Error{FieldsTooLarge, "there are too many fields"}
		}
		colon, err := checkField(s.buf[start:])
		if err != nil {
			return err
		}
		s.lines = append(s.lines, span{start, start + colon, len(s.buf)})
	}
}

// checkField returns where the colon of a field's line is. Space before it, and a
// line that continues the last one, are not of a token.
func checkField(line []byte) (colon int, err error) {
	for colon < len(line) && class[line[colon]]&tchar != 0 {
		colon++
	}
	if colon == 0 || colon == len(line) || line[colon] != ':' {
		return 0, bad("the name of a field is malformed")
	}
	if !ValidValue(line[colon+1:]) {
		return 0, bad("the value of a field is malformed")
	}
	return colon, nil
}
