package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"net"
	"net/http"

	"ringfence.dev/ringfence/internal/leakscan"
)

// searchedWriter is the way back to a client whose connection, should it become a
// WebSocket, is searched for decoys.
type searchedWriter struct {
	http.ResponseWriter
	set  *leakscan.Set
	seen func(name, form string) bool
}

// Unwrap is for http.ResponseController.
func (w *searchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements http.Hijacker.
func (w *searchedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return &searchedConn{Conn: c, frames: frames{scan: w.set.Scanner(), control: w.set.Scanner(), seen: w.seen}}, rw, nil
}

// searchedConn passes on what a client says in frames that were searched.
type searchedConn struct {
	net.Conn
	frames frames
}

func (c *searchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if bad := c.frames.take(b[:n]); bad != nil {
		return 0, bad
	}
	return n, err
}

// CloseWrite implements what a relay looks for.
func (c *searchedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}

// frames reads what a client sends on a WebSocket (RFC 6455, 5.2). Each frame is masked
// with a key of its own, so that no text stands in it as it is.
type frames struct {
	scan    *leakscan.Scanner
	control *leakscan.Scanner // what stands between the parts of a message, and is none
	seen    func(name, form string) bool
	told    bool

	head [14]byte
	have int    // bytes of the head
	left uint64 // bytes of the payload
	at   uint64 // bytes of it that were read
}

var errFrame = errors.New("this is not how a WebSocket speaks")

// take looks at the next bytes.
func (f *frames) take(b []byte) error {
	for len(b) > 0 {
		if f.left == 0 {
			whole, err := f.header(b[0])
			if b = b[1:]; err != nil {
				return err
			}
			if whole {
				f.left, f.at, f.have = f.length(), 0, 0
			}
			continue
		}
		n := int(min(uint64(len(b)), f.left))
		key, plain := f.head[f.keyAt():], make([]byte, n)
		for i := range plain {
			plain[i] = b[i] ^ key[(f.at+uint64(i))%4]
		}
		f.left, f.at, b = f.left-uint64(n), f.at+uint64(n), b[n:]
		if f.told {
			continue
		}
		scan := f.scan
		if f.head[0]&0x08 != 0 {
			scan = f.control
		}
		if name, form, found := scan.Scan(plain); found {
			if f.told = true; f.seen(name, form) {
				return errDecoy
			}
		}
	}
	return nil
}

// header takes a byte of a frame's head, and says whether it was the last. Bits that an
// extension gives a meaning are refused, for none was agreed upon; so is a frame without
// a mask, which no client sends.
func (f *frames) header(c byte) (whole bool, err error) {
	f.head[f.have] = c
	f.have++
	if f.have == 1 && c&0x70 != 0 || f.have == 2 && c&0x80 == 0 {
		return false, errFrame
	}
	if f.have < 2 || f.have < f.keyAt()+4 {
		return false, nil
	}
	if f.length()>>63 != 0 {
		return false, errFrame
	}
	return true, nil
}

// keyAt is where the key stands in the head.
func (f *frames) keyAt() int {
	switch f.head[1] & 0x7f {
	case 126:
		return 4
	case 127:
		return 10
	}
	return 2
}

func (f *frames) length() uint64 {
	switch n := f.head[1] & 0x7f; n {
	case 126:
		return uint64(binary.BigEndian.Uint16(f.head[2:]))
	case 127:
		return binary.BigEndian.Uint64(f.head[2:])
	default:
		return uint64(n)
	}
}
