package gitproxy

import (
	"errors"
	"fmt"
	"io"
)

// packetKind is what a packet is for.
type packetKind byte

// The kinds.
const (
	packetData  packetKind = iota // carries bytes, at least one
	packetFlush                   // 0000: the end of a list
	packetDelim                   // 0001: between the sections of a message
	packetEnd                     // 0002: the end of an answer
)

const (
	packetHead = 4
	// maxPacket is how many bytes one packet carries at most.
	maxPacket = 65520 - packetHead
	// maxBand is how many bytes one packet of a side band carries at most.
	maxBand = maxPacket - 1
)

// errPacket is in the chain of every error that the bytes themselves caused.
// Other errors are those of the reader below, io.ErrUnexpectedEOF among them.
var errPacket = errors.New("bad pkt-line")

// packetReader reads the packets in which git talks: four hex digits of length, then the
// bytes. It takes one spelling of everything. What git itself would let pass (upper-case
// digits, the empty packet) is an error here, so that nobody can mean one thing to us and
// another to the server behind us. It never reads a byte past the packet that it returns:
// what follows may be a pack.
//
// What is left at risk: the payload is not looked at and may hold any bytes; whoever stops
// in the middle of a packet is waited for, deadlines are the caller's. It costs 64 KiB.
type packetReader struct {
	r   io.Reader
	buf []byte
}

// newPacketReader returns a reader of r. It does not buffer: give it something that
// does.
func newPacketReader(r io.Reader) *packetReader { return &packetReader{r: r} }

// Next returns the next packet. The payload is good until the next call. At the
// end of the input, between two packets, the error is io.EOF.
func (r *packetReader) Next() (packetKind, []byte, error) {
	var size [packetHead]byte
	if _, err := io.ReadFull(r.r, size[:]); err != nil {
		if err == io.EOF {
			return 0, nil, io.EOF
		}
		return 0, nil, fmt.Errorf("read pkt-line length: %w", err)
	}
	n, err := packetLength(size)
	if err != nil {
		return 0, nil, err
	}
	if n < packetHead {
		return packetKind(n + 1), nil, nil
	}
	if r.buf == nil {
		r.buf = make([]byte, maxPacket)
	}
	p := r.buf[:n-packetHead]
	if _, err := io.ReadFull(r.r, p); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, fmt.Errorf("read pkt-line of %d bytes: %w", n, err)
	}
	return packetData, p, nil
}

// packetLength reads the digits. 3 and 4 are no lengths: the first means nothing, and
// the second, an empty packet, is a flush to old servers and a line to new ones.
func packetLength(digits [packetHead]byte) (int, error) {
	n := 0
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | int(c-'a'+10)
		default:
			return 0, fmt.Errorf("%w: length %q", errPacket, digits[:])
		}
	}
	if n == 3 || n == packetHead || n > packetHead+maxPacket {
		return 0, fmt.Errorf("%w: length %q", errPacket, digits[:])
	}
	return n, nil
}

// packetText takes one newline off the end of a payload, where git puts one and does
// not demand one.
func packetText(payload []byte) []byte {
	if n := len(payload); n > 0 && payload[n-1] == '\n' {
		return payload[:n-1]
	}
	return payload
}

// AppendPacket appends a packet with the given payload to dst. A payload that is empty
// or too long is a mistake of the program.
func AppendPacket(dst []byte, payload string) []byte {
	if len(payload) == 0 || len(payload) > maxPacket {
		panic(fmt.Sprintf("pktline: payload of %d bytes", len(payload)))
	}
	dst = fmt.Appendf(dst, "%04x", packetHead+len(payload))
	return append(dst, payload...)
}

// appendMark appends a packet that carries nothing.
func appendMark(dst []byte, kind packetKind) []byte {
	if kind == packetData || kind > packetEnd {
		panic(fmt.Sprintf("pktline: kind %d is no mark", kind))
	}
	return fmt.Appendf(dst, "%04x", kind-1)
}

// appendBand appends data on a side band, in as many packets as it takes.
func appendBand(dst []byte, band byte, data []byte) []byte {
	for len(data) > 0 {
		n := min(len(data), maxBand)
		dst = fmt.Appendf(dst, "%04x", packetHead+1+n)
		dst = append(append(dst, band), data[:n]...)
		data = data[n:]
	}
	return dst
}
