package clienthello

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Max bounds all bytes of a ClientHello on the wire, record headers included.
// The largest of real clients are near 2 KiB.
const Max = 64 << 10

const (
	recordHeader    = 5
	recordLimit     = 1 << 14 // what a record may carry
	messageHeader   = 4
	typeHandshake   = 22
	typeClientHello = 1

	// firstRoom is what is set aside when a length was announced and nothing
	// has come yet. Nearly all hellos fit, and go into one read.
	firstRoom = 2 << 10

	patience = 100 // empty reads in a row before a reader counts as broken
)

// Read takes bytes from r until a whole ClientHello is there, in however many
// records and reads it comes, and not one byte more. raw is all that was taken,
// also when there is an error, so that it can be sent on.
//
// A client that does not speak TLS is found out by its first byte, and at most
// five are taken. Only where the first byte could begin an SSLv2 hello, two more
// are waited for.
func Read(r io.Reader) (h Hello, raw []byte, err error) {
	in := intake{r: r}
	if err := in.begin(); err != nil {
		return Hello{}, in.raw, err
	}
	for in.need == 0 || in.have < in.need {
		if err := in.record(); err != nil {
			return Hello{}, in.raw, err
		}
	}
	h, err = Parse(in.message()[messageHeader:])
	return h, in.raw, err
}

// intake gathers records. All its checks happen at places in the stream that do
// not depend on how the bytes arrive.
type intake struct {
	r    io.Reader
	raw  []byte              // all that was taken
	head [messageHeader]byte // of the handshake message; it may be spread over records
	have int                 // bytes of the message in whole records
	need int                 // its whole length with head; 0 while unknown
}

// begin tells TLS from what is not.
func (in *intake) begin() error {
	if err := in.want(1, recordHeader); err != nil {
		return err
	}
	if in.raw[0] == typeHandshake {
		return nil
	}
	if in.raw[0]&0x80 == 0 {
		return ErrNotTLS
	}
	// SSLv2: two bytes of length with the highest bit set, then the type.
	if err := in.want(3, recordHeader); err != nil {
		return err
	}
	if in.raw[2] == typeClientHello {
		return ErrSSLv2
	}
	return ErrNotTLS
}

// record takes one record.
func (in *intake) record() error {
	start := len(in.raw)
	if in.have == 0 {
		start = 0 // begin may have taken some of the first
	}
	body := start + recordHeader
	if err := in.want(body, body); err != nil {
		return err
	}
	n, err := recordLength(in.raw[start:])
	if err != nil {
		return err
	}
	end := body + n
	if end > Max {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, Max)
	}
	if in.need == 0 {
		if err := in.header(body, end); err != nil {
			return err
		}
	}
	if in.need > 0 && in.have+n > in.need {
		return malformed("bytes after the message")
	}
	in.have += n
	return in.want(end, end)
}

func recordLength(b []byte) (int, error) {
	if b[0] != typeHandshake {
		return 0, malformed(fmt.Sprintf("record of type %d", b[0]))
	}
	if b[1] != 3 {
		return 0, malformed(fmt.Sprintf("record of version %d.%d", b[1], b[2]))
	}
	n := int(binary.BigEndian.Uint16(b[3:]))
	if n == 0 || n > recordLimit {
		return 0, malformed(fmt.Sprintf("record of %d bytes", n))
	}
	return n, nil
}

// header takes what the record between body and end has of the message's header,
// so that a wrong one is refused before the record is complete.
func (in *intake) header(body, end int) error {
	n := min(messageHeader-in.have, end-body)
	if err := in.want(body+n, end); err != nil {
		return err
	}
	copy(in.head[in.have:], in.raw[body:body+n])
	if in.head[0] != typeClientHello {
		return malformed(fmt.Sprintf("handshake message of type %d", in.head[0]))
	}
	if in.have+n < messageHeader {
		return nil
	}
	in.need = messageHeader + int(binary.BigEndian.Uint32(in.head[:])&0xffffff)
	if in.need > Max-recordHeader {
		return fmt.Errorf("%w: message of %d bytes", ErrTooLong, in.need)
	}
	return nil
}

// message returns the handshake message without the headers of its records.
func (in *intake) message() []byte {
	if len(in.raw) == recordHeader+in.need {
		return in.raw[recordHeader:]
	}
	whole := make([]byte, 0, in.need)
	for rest := in.raw; len(rest) > 0; {
		end := recordHeader + int(binary.BigEndian.Uint16(rest[3:]))
		whole = append(whole, rest[recordHeader:end]...)
		rest = rest[end:]
	}
	return whole
}

// want reads until raw has n bytes. It takes more if they are there, up to limit.
func (in *intake) want(n, limit int) error {
	if n > Max {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, Max)
	}
	for idle := 0; len(in.raw) < n; {
		if len(in.raw) == cap(in.raw) {
			more := min(limit-len(in.raw), max(len(in.raw), firstRoom))
			in.raw = slices.Grow(in.raw, more)
		}
		got, err := in.r.Read(in.raw[len(in.raw):min(limit, cap(in.raw))])
		in.raw = in.raw[:len(in.raw)+got]
		switch {
		case len(in.raw) >= n:
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: %d bytes", ErrTruncated, len(in.raw))
		case err != nil:
			return fmt.Errorf("read ClientHello: %w", err)
		case got > 0:
			idle = 0
		default:
			if idle++; idle == patience {
				return fmt.Errorf("read ClientHello: %w", io.ErrNoProgress)
			}
		}
	}
	return nil
}
