package cgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kinds of message.
const (
	kindCall   = 1
	kindReturn = 2
	kindError  = 3
	kindSignal = 4
)

// Codes of header fields.
const (
	fieldPath        = 1
	fieldInterface   = 2
	fieldMember      = 3
	fieldErrorName   = 4
	fieldReplySerial = 5
	fieldDestination = 6
	fieldSender      = 7
	fieldSignature   = 8
	fieldFDs         = 9
)

const fixedHeader = 16 // up to and with the length of the field array

// message is a D-Bus message as far as we look at it.
type message struct {
	kind      byte
	serial    uint32
	replyTo   uint32
	path      string
	iface     string
	member    string
	errorName string
	dest      string
	sender    string // set by the bus daemon or the manager, never by us
	signature string
	body      []byte
	order     binary.ByteOrder // of the body
}

var errMalformed = errors.New("dbus: malformed message")

// frameSize returns the length of the whole message from its first 16 bytes.
func frameSize(b []byte) (int, error) {
	order, err := byteOrder(b[0])
	if err != nil {
		return 0, err
	}
	body, fields := uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[12:]))
	size := fixedHeader + (fields+7)/8*8 + body
	if size > maxMessage {
		return 0, fmt.Errorf("dbus: message of %d bytes", size)
	}
	return int(size), nil
}

func byteOrder(mark byte) (binary.ByteOrder, error) {
	switch mark {
	case 'l':
		return binary.LittleEndian, nil
	case 'B':
		return binary.BigEndian, nil
	}
	return nil, errMalformed
}

// decodeMessage reads one whole message, which has the length of frameSize.
func decodeMessage(b []byte) (message, error) {
	if len(b) < fixedHeader {
		return message{}, errMalformed
	}
	size, err := frameSize(b)
	if err != nil {
		return message{}, err
	}
	if size != len(b) || b[3] != 1 {
		return message{}, errMalformed
	}
	order, _ := byteOrder(b[0])
	m := message{kind: b[1], serial: order.Uint32(b[8:]), order: order}
	end := fixedHeader + int(order.Uint32(b[12:]))
	d := decoder{b: b[:end], off: fixedHeader, order: order}
	for d.err == nil && d.off < end {
		d.align(8)
		m.field(&d)
	}
	m.body = b[(end+7)/8*8:]
	if d.err == nil && (m.serial == 0 || m.kind == 0) {
		d.err = errMalformed
	}
	return m, d.err
}

// field reads one header field: a code and a variant whose type the code fixes.
// A code that we do not know may come only with a type that we can skip.
func (m *message) field(d *decoder) {
	code, kind := d.byte(), d.signature()
	var s string
	var u uint32
	switch kind {
	case "s", "o":
		s = d.string()
	case "g":
		s = d.signature()
	case "u":
		u = d.uint32()
	default:
		d.err = errMalformed
	}
	want, known := fieldTypes[code]
	if known && kind != want {
		d.err = errMalformed
	}
	switch code {
	case fieldPath:
		m.path = s
	case fieldInterface:
		m.iface = s
	case fieldMember:
		m.member = s
	case fieldErrorName:
		m.errorName = s
	case fieldReplySerial:
		m.replyTo = u
	case fieldDestination:
		m.dest = s
	case fieldSender:
		m.sender = s
	case fieldSignature:
		m.signature = s
	}
}

var fieldTypes = map[byte]string{
	fieldPath: "o", fieldInterface: "s", fieldMember: "s", fieldErrorName: "s", fieldReplySerial: "u",
	fieldDestination: "s", fieldSender: "s", fieldSignature: "g", fieldFDs: "u",
}

// encode writes the message in little-endian form.
func (m message) encode() []byte {
	var f encoder
	text := func(code byte, kind, s string) {
		if s == "" {
			return
		}
		f.align(8)
		f.byte(code)
		f.signature(kind)
		if kind == "g" {
			f.signature(s)
		} else {
			f.string(s)
		}
	}
	text(fieldPath, "o", m.path)
	text(fieldInterface, "s", m.iface)
	text(fieldMember, "s", m.member)
	text(fieldErrorName, "s", m.errorName)
	text(fieldDestination, "s", m.dest)
	text(fieldSignature, "g", m.signature)
	if m.replyTo != 0 {
		f.align(8)
		f.byte(fieldReplySerial)
		f.signature("u")
		f.uint32(m.replyTo)
	}
	e := encoder{'l', m.kind, 0, 1}
	e.uint32(uint32(len(m.body)))
	e.uint32(m.serial)
	e.uint32(uint32(len(f)))
	e = append(e, f...) // its alignment holds: the array starts at 16
	e.align(8)
	return append(e, m.body...)
}

// encoder marshals little-endian values; alignment counts from its start.
type encoder []byte

func (e *encoder) align(n int) {
	for len(*e)%n != 0 {
		*e = append(*e, 0)
	}
}
func (e *encoder) byte(b byte)        { *e = append(*e, b) }
func (e *encoder) uint32(u uint32)    { e.align(4); *e = le.AppendUint32(*e, u) }
func (e *encoder) uint64(u uint64)    { e.align(8); *e = le.AppendUint64(*e, u) }
func (e *encoder) string(s string)    { e.uint32(uint32(len(s))); *e = append(append(*e, s...), 0) }
func (e *encoder) signature(s string) { *e = append(append(append(*e, byte(len(s))), s...), 0) }

// array writes what fill appends as an array of elements that align to n.
func (e *encoder) array(n int, fill func()) {
	e.uint32(0)
	at := len(*e)
	e.align(n)
	start := len(*e)
	fill()
	le.PutUint32((*e)[at-4:], uint32(len(*e)-start))
}

// decoder reads values and keeps the first error; after it all values are zero.
type decoder struct {
	b     []byte
	off   int
	order binary.ByteOrder
	err   error
}

func (d *decoder) take(n int) []byte {
	if d.err == nil && (n < 0 || n > len(d.b)-d.off) {
		d.err = errMalformed
	}
	if d.err != nil {
		return make([]byte, 4)[:min(max(n, 0), 4)]
	}
	d.off += n
	return d.b[d.off-n : d.off]
}

func (d *decoder) align(n int) {
	for d.err == nil && d.off%n != 0 {
		if d.take(1)[0] != 0 {
			d.err = errMalformed
		}
	}
}

func (d *decoder) byte() byte     { return d.take(1)[0] }
func (d *decoder) uint32() uint32 { d.align(4); return d.order.Uint32(d.take(4)) }

func (d *decoder) string() string    { return d.text(int(min(d.uint32(), maxMessage))) }
func (d *decoder) signature() string { return d.text(int(d.byte())) }

// text reads n bytes of UTF-8 and the NUL that must follow, and only follow.
func (d *decoder) text(n int) string {
	s := string(d.take(n))
	if d.byte() != 0 || strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		d.err = errMalformed
	}
	if d.err != nil {
		return ""
	}
	return s
}
