// Package pktline reads and writes the packets in which git talks: four hex
// digits of length, then the bytes.
//
// The reader takes one spelling of everything. What git itself would let pass
// (upper-case digits, the empty packet) is an error here, so that nobody can
// mean one thing to us and another to the server behind us. It never reads a
// byte past the packet that it returns: what follows may be a pack.
//
// # What is left at risk
//
//   - The payload is not looked at. It may hold any bytes.
//   - Whoever stops in the middle of a packet is waited for: deadlines are the
//     caller's. It costs 64 KiB.
package pktline

import (
	"errors"
	"fmt"
	"io"
)

// Kind is what a packet is for.
type Kind byte

// The kinds.
const (
	Data  Kind = iota // carries bytes, at least one
	Flush             // 0000: the end of a list
	Delim             // 0001: between the sections of a message
	End               // 0002: the end of an answer
)

const (
	head = 4
	// MaxData is how many bytes one packet carries at most.
	MaxData = 65520 - head
	// MaxBand is how many bytes one packet of a side band carries at most.
	MaxBand = MaxData - 1
)

// ErrSyntax is in the chain of every error that the bytes themselves caused.
// Other errors are those of the reader below, io.ErrUnexpectedEOF among them.
var ErrSyntax = errors.New("bad pkt-line")

// Reader reads packets.
type Reader struct {
	r   io.Reader
	buf []byte
}

// NewReader returns a Reader of r. It does not buffer: give it something that
// does.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next packet. The payload is good until the next call. At the
// end of the input, between two packets, the error is io.EOF.
func (r *Reader) Next() (Kind, []byte, error) {
	var size [head]byte
	if _, err := io.ReadFull(r.r, size[:]); err != nil {
		if err == io.EOF {
			return 0, nil, io.EOF
		}
		return 0, nil, fmt.Errorf("read pkt-line length: %w", err)
	}
	n, err := length(size)
	if err != nil {
		return 0, nil, err
	}
	if n < head {
		return Kind(n + 1), nil, nil
	}
	if r.buf == nil {
		r.buf = make([]byte, MaxData)
	}
	p := r.buf[:n-head]
	if _, err := io.ReadFull(r.r, p); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, fmt.Errorf("read pkt-line of %d bytes: %w", n, err)
	}
	return Data, p, nil
}

// length reads the digits. 3 and 4 are no lengths: the first means nothing, and
// the second, an empty packet, is a flush to old servers and a line to new ones.
func length(digits [head]byte) (int, error) {
	n := 0
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | int(c-'a'+10)
		default:
			return 0, fmt.Errorf("%w: length %q", ErrSyntax, digits[:])
		}
	}
	if n == 3 || n == head || n > head+MaxData {
		return 0, fmt.Errorf("%w: length %q", ErrSyntax, digits[:])
	}
	return n, nil
}

// Line takes one newline off the end of a payload, where git puts one and does
// not demand one.
func Line(payload []byte) []byte {
	if n := len(payload); n > 0 && payload[n-1] == '\n' {
		return payload[:n-1]
	}
	return payload
}

// Append appends a packet with the given payload to dst. A payload that is empty
// or too long is a mistake of the program.
func Append(dst []byte, payload string) []byte {
	if len(payload) == 0 || len(payload) > MaxData {
		panic(fmt.Sprintf("pktline: payload of %d bytes", len(payload)))
	}
	dst = fmt.Appendf(dst, "%04x", head+len(payload))
	return append(dst, payload...)
}

// AppendMark appends a packet that carries nothing.
func AppendMark(dst []byte, kind Kind) []byte {
	if kind == Data || kind > End {
		panic(fmt.Sprintf("pktline: kind %d is no mark", kind))
	}
	return fmt.Appendf(dst, "%04x", kind-1)
}

// AppendBand appends data on a side band, in as many packets as it takes.
func AppendBand(dst []byte, band byte, data []byte) []byte {
	for len(data) > 0 {
		n := min(len(data), MaxBand)
		dst = fmt.Appendf(dst, "%04x", head+1+n)
		dst = append(append(dst, band), data[:n]...)
		data = data[n:]
	}
	return dst
}
