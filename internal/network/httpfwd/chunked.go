package httpfwd

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
)

// The bounds of what a chunked body has besides its data.
const (
	maxSizeLine   = 256 // a size and its extensions
	maxExtensions = 16 << 10
	maxTrailers   = 8 << 10
	maxTrailer    = 32 // lines
)

// chunker reads a chunked body and writes it anew.
type chunker struct {
	src        *bufio.Reader
	conn       io.Reader
	dst        counter
	out        *bufio.Writer // to dst
	extensions int           // bytes seen of them
}

// counter counts what goes to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bulk) }}

func copyChunked(dst io.Writer, src *bufio.Reader, conn io.Reader) (int64, error) {
	c := chunker{src: src, conn: conn, dst: counter{w: dst}}
	c.out = writers.Get().(*bufio.Writer)
	c.out.Reset(&c.dst)
	err := c.run()
	c.out.Reset(nil)
	writers.Put(c.out)
	return c.dst.n, err
}

func (c *chunker) run() error {
	for {
		size, err := c.size()
		if err != nil {
			return err
		}
		if size == 0 {
			return c.last()
		}
		c.out.WriteString(strconv.FormatInt(size, 16))
		c.out.WriteString("\r\n")
		if err := c.data(size); err != nil {
			return err
		}
		if err := c.end(); err != nil {
			return err
		}
		if _, err := c.out.WriteString("\r\n"); err != nil {
			return err
		}
	}
}

// settle sends what is ready before a read that may have to wait.
func (c *chunker) settle(waits bool) error {
	if waits {
		return c.out.Flush()
	}
	return nil
}

// size reads the line before a chunk. Extensions are dropped: nobody uses them but
// to make two readers disagree.
func (c *chunker) size() (int64, error) {
	ready, _ := c.src.Peek(c.src.Buffered())
	if err := c.settle(bytes.IndexByte(ready, '\n') < 0); err != nil {
		return 0, err
	}
	var line [maxSizeLine + len("\r\n")]byte
	n := 0
	for n == 0 || line[n-1] != '\n' {
		if n == len(line) {
			return 0, bad("the line of a chunk's size is too long")
		}
		b, err := c.src.ReadByte()
		if err != nil {
			return 0, cutOff(err)
		}
		line[n] = b
		n++
	}
	if n < 2 || line[n-2] != '\r' {
		return 0, bad("the line of a chunk's size does not end in CRLF")
	}
	return c.parseSize(line[:n-2])
}

func (c *chunker) parseSize(line []byte) (int64, error) {
	const maxDigits = 16
	size, ext, extended := bytes.Cut(line, []byte(";"))
	if len(size) == 0 || len(size) > maxDigits || !all(size, hexByte) {
		return 0, bad("the size of a chunk is malformed")
	}
	if extended {
		c.extensions += len(ext) + 1
	}
	if c.extensions > maxExtensions || !ValidValue(ext) {
		return 0, bad("the extensions of a chunk are malformed, or too many")
	}
	n, err := strconv.ParseUint(string(size), 16, 64)
	if err != nil || n > maxLength {
		return 0, bad("a chunk is too large")
	}
	return int64(n), nil
}

// data passes on the n bytes of a chunk.
func (c *chunker) data(n int64) error {
	for n > 0 {
		if err := c.settle(c.src.Buffered() == 0); err != nil {
			return err
		}
		if c.src.Buffered() == 0 && c.conn != nil && n >= bulk {
			m, err := io.CopyN(c.dst.w, c.conn, n)
			c.dst.n += m
			return cutOff(err)
		}
		m, err := copySome(c.out, c.src, n)
		if err != nil {
			return err
		}
		n -= int64(m)
	}
	return nil
}

// end reads the CRLF after a chunk.
func (c *chunker) end() error {
	if err := c.settle(c.src.Buffered() < 2); err != nil {
		return err
	}
	for _, want := range []byte("\r\n") {
		b, err := c.src.ReadByte()
		if err != nil {
			return cutOff(err)
		}
		if b != want {
			return bad("a chunk does not end in CRLF")
		}
	}
	return nil
}

// last reads the trailers and writes them and the last chunk. Until they are known
// to be good the body has no end for the origin.
func (c *chunker) last() error {
	ready, _ := c.src.Peek(c.src.Buffered())
	if err := c.settle(!bytes.HasPrefix(ready, []byte("\r\n"))); err != nil {
		return err
	}
	tail := []byte("0\r\n")
	err := scan(c.src, maxTrailers, func(s *scanner) error {
		if err := s.fields(maxTrailer); err != nil {
			return err
		}
		for _, l := range s.lines {
			f := field{string(s.buf[l.start:l.colon]), strings.Trim(string(s.buf[l.colon+1:l.end]), " \t")}
			if err := checkTrailer(f.name); err != nil {
				return err
			}
			tail = appendField(tail, f)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.out.Write(append(tail, "\r\n"...))
	return c.out.Flush()
}
