package dns

import (
	"encoding/binary"

	"golang.org/x/net/dns/dnsmessage"
)

// Question is one parsed query. It can be compared: two are equal if they ask the
// same under the same number, letter for letter.
type Question struct {
	ID   uint16
	Name string // lower-cased, no final dot; "" is the root
	Type dnsmessage.Type

	EDNS    bool
	UDPSize int // what the sender takes over UDP, within 512 and MaxUDP

	RecursionDesired bool
	CheckingDisabled bool

	section  string // the question as it was asked; the case of its letters may be a nonce
	opcode   uint16
	dnssecOK bool
}

// parse reads a query. Unless the error says to drop the message, the Question holds
// what was understood before, and q.Reply(Answer{Code: e.Code}, max) is the answer to
// give.
//
// The header's bits without a meaning in a query (AA, TC, RA, AD, Z, RCODE) are
// neither looked at nor repeated: clients differ in them.
func parse(msg []byte) (q Question, _ *Error) {
	fault := q.parseHeader(msg)
	if fault != nil {
		return q, fault
	}
	rest, fault := q.parseSection(msg[headerSize:])
	switch {
	case fault != nil:
		return q, fault
	case binary.BigEndian.Uint16(msg[10:]) == 1:
		return q, q.parseOPT(rest)
	case len(rest) > 0:
		return q, errTrailing
	}
	return q, nil
}

func (q *Question) parseHeader(msg []byte) *Error {
	if len(msg) < headerSize {
		return errShort
	}
	word := func(at int) uint16 { return binary.BigEndian.Uint16(msg[at:]) }
	flags := word(2)
	if flags&bitQR != 0 {
		return errAnswer
	}
	*q = Question{
		ID:               word(0),
		UDPSize:          minUDP,
		RecursionDesired: flags&bitRD != 0,
		CheckingDisabled: flags&bitCD != 0,
		opcode:           flags >> opcodeShift & opcodeMask,
	}
	switch {
	case len(msg) > MaxQuery:
		return errLong
	case q.opcode != 0: // before the counts, which mean other things then
		return errOpcode
	case word(4) != 1:
		return errQuestions
	case word(6) != 0 || word(8) != 0:
		return errRecords
	case word(10) > 1:
		return errAdditional
	}
	return nil
}

// parseSection reads name, type and class and returns the bytes after them.
func (q *Question) parseSection(b []byte) (rest []byte, _ *Error) {
	var space [maxName + maxLabel]byte
	size, name, fault := parseName(b, space[:0])
	if fault != nil {
		return nil, fault
	}
	if len(b) < size+4 {
		return nil, errCut
	}
	q.Type = dnsmessage.Type(binary.BigEndian.Uint16(b[size:]))
	class := dnsmessage.Class(binary.BigEndian.Uint16(b[size+2:]))

	// One string for both, for the one allocation.
	var both [2*maxName + 4]byte
	section := b[:size+4]
	all := string(append(append(both[:0], section...), name...))
	q.section, q.Name = all[:len(section)], all[len(section):]
	if class != dnsmessage.ClassINET {
		return nil, errClass
	}
	return b[len(section):], nil
}

// parseName reads a name, appends it to text and returns how many bytes it takes
// in b. A pointer is refused: the first name of a message has nothing to point at.
func parseName(b, text []byte) (size int, _ []byte, _ *Error) {
	for size < maxName {
		if size == len(b) {
			return 0, nil, errCut
		}
		n := int(b[size])
		size++
		if n == 0 {
			return size, text, nil
		}
		if n > maxLabel {
			return 0, nil, errLabel
		}
		if n > len(b)-size {
			return 0, nil, errCut
		}
		if len(text) > 0 {
			text = append(text, '.')
		}
		for _, c := range b[size : size+n] {
			if c < '!' || c > '~' || c == '.' {
				return 0, nil, errByte
			}
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			text = append(text, c)
		}
		size += n
	}
	return 0, nil, errName
}

// parseOPT reads the OPT record that is all of b. Its options are not used, only
// measured.
func (q *Question) parseOPT(b []byte) *Error {
	if len(b) < optSize {
		return errOPTSize
	}
	word := func(at int) int { return int(binary.BigEndian.Uint16(b[at:])) }
	if b[0] != 0 || word(1) != int(dnsmessage.TypeOPT) {
		return errNotOPT
	}
	options := b[optSize:]
	if word(9) != len(options) {
		return errOPTSize
	}
	q.EDNS = true
	q.UDPSize = min(max(word(3), minUDP), MaxUDP)
	q.dnssecOK = word(7)&bitDO != 0
	if b[6] != 0 { // what another version means by the rest is not known
		return errVersion
	}
	for len(options) > 0 {
		if len(options) < 4 {
			return errOption
		}
		size := 4 + int(binary.BigEndian.Uint16(options[2:]))
		if size > len(options) {
			return errOption
		}
		options = options[size:]
	}
	return nil
}
