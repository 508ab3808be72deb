package httpfwd

import (
	"bufio"
	"io"
)

// bulk is the rest of a body or chunk from which on it is worth while to leave our
// buffers: two TCP connections then splice.
const bulk = 16 << 10

// CopyBody passes on exactly the body of h and returns how many bytes went to dst.
// src is where h was read from, conn what src reads from, or nil: when src has no
// more bytes the bulk is taken from conn itself, so that *net.TCPConn can splice to
// *net.TCPConn. A body that ends early is io.ErrUnexpectedEOF.
func CopyBody(dst io.Writer, src *bufio.Reader, conn io.Reader, h *Head) (int64, error) {
	switch {
	case h.Length == 0:
		return 0, nil
	case h.Length == Chunked:
		return copyChunked(dst, src, conn)
	}
	return copyN(dst, src, conn, h.Length)
}

// copyN passes on n bytes as they come.
func copyN(dst io.Writer, src *bufio.Reader, conn io.Reader, n int64) (done int64, err error) {
	for done < n {
		if src.Buffered() == 0 && conn != nil && n-done >= bulk {
			m, err := io.CopyN(dst, conn, n-done)
			return done + m, cutOff(err)
		}
		m, err := copySome(dst, src, n-done)
		done += int64(m)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// copySome passes on what src holds, or what it gets by reading once, up to n bytes.
func copySome(dst io.Writer, src *bufio.Reader, n int64) (int, error) {
	if _, err := src.Peek(1); err != nil {
		return 0, cutOff(err)
	}
	part, err := src.Peek(int(min(n, int64(src.Buffered()))))
	if err != nil {
		return 0, err
	}
	m, err := dst.Write(part)
	if err != nil {
		return m, err
	}
	_, err = src.Discard(m)
	return m, err
}
