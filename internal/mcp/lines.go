package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxMessage bounds a message: pictures travel in them.
const MaxMessage = 16 << 20

// errLong ends a stream: where the next message begins is a matter of opinion when one
// has no end.
var errLong = errors.New("a message is longer than the bound")

// lines reads messages from a stream.
type lines struct {
	r    *bufio.Reader
	most int
	buf  []byte
}

func newLines(r io.Reader, most int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 32<<10), most: most}
}

// next returns the next line that is not blank, with its end. It is good until the next
// call. A last line without an end is no message.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

func (l *lines) line() ([]byte, error) {
	if cap(l.buf) > 1<<20 {
		l.buf = nil // one large message is no reason to keep its room
	}
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(part) > l.most {
			return nil, errLong
		}
		if err == nil && len(l.buf) == 0 {
			return part, nil
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
