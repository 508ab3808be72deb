package dns

import (
	"encoding/binary"
	"math"
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// Answer is what the Handler says to a Question. An A is answered with V4 and an
// AAAA with V6. Success without the address that was asked for, or to a question
// of any other type, is an answer without records: the name exists, that is all.
type Answer struct {
	Code dnsmessage.RCode
	V4   netip.Addr // IPv4, or zero
	V6   netip.Addr // IPv6 and not an IPv4 in disguise, or zero
	TTL  uint32

	// An extended error (RFC 8914), for those who speak EDNS. There is one if
	// either is set; code 0 is "other". Of Text 200 bytes of printable ASCII are
	// sent.
	EDE  uint16
	Text string
}

const (
	optionEDE  = 15 // the EDNS option that holds an extended error
	edeSize    = 6  // without its text
	recordSize = 12 // without its address
)

// Reply writes the reply to q in at most limit bytes. What does not fit is left
// out whole and the reply marked as cut: the extended error first, then the
// record. It is nil if not even a header fits.
func (q Question) Reply(a Answer, limit int) []byte {
	if limit < headerSize {
		return nil
	}
	size := headerSize + len(q.section) + recordSize + 16 + optSize + edeSize + min(len(a.Text), maxText)
	return q.appendReply(make([]byte, 0, size), a, limit)
}

// parts says what a reply holds beside its header.
type parts struct {
	question, opt, record, ede, cut bool
}

// fit chooses what goes into limit bytes, the most needed first.
func (q *Question) fit(limit, addr, text int, ede bool) parts {
	var p parts
	room := limit - headerSize
	take := func(size int) bool {
		if size > room {
			p.cut = true
			return false
		}
		room -= size
		return true
	}
	p.question = q.section != "" && take(len(q.section))
	p.opt = q.EDNS && !p.cut && take(optSize)
	p.record = addr > 0 && !p.cut && take(recordSize+addr)
	p.ede = (ede || text > 0) && p.opt && !p.cut && take(edeSize+text)
	return p
}

// appendReply appends the reply to b. The limit leaves room for a header.
func (q *Question) appendReply(b []byte, a Answer, limit int) []byte {
	var addrSpace [16]byte
	var textSpace [maxText]byte
	addr := a.appendAddress(addrSpace[:0], q.Type)
	text := appendPrintable(textSpace[:0], a.Text)
	p := q.fit(limit, len(addr), len(text), a.EDE != 0)
	code := a.Code
	if code > 0xfff || code > 0xf && !p.opt { // there is no way to say it
		code = dnsmessage.RCodeServerFailure
	}

	b = q.appendHeader(b, code, p)
	if p.question {
		b = append(b, q.section...)
	}
	if p.record {
		b = append(b, 0xc0, headerSize) // the name of the question
		b = appendWords(b, uint16(q.Type), uint16(dnsmessage.ClassINET))
		b = binary.BigEndian.AppendUint32(b, min(a.TTL, math.MaxInt32))
		b = appendWords(b, uint16(len(addr)))
		b = append(b, addr...)
	}
	if p.opt {
		options := 0
		if p.ede {
			options = edeSize + len(text)
		}
		b = q.appendOPT(b, code, options)
	}
	if p.ede {
		b = appendWords(b, optionEDE, uint16(2+len(text)), a.EDE)
		b = append(b, text...)
	}
	return b
}

func (q *Question) appendHeader(b []byte, code dnsmessage.RCode, p parts) []byte {
	flags := bitQR | bitRA | q.opcode<<opcodeShift | uint16(code)&0xf
	if q.RecursionDesired {
		flags |= bitRD
	}
	if q.CheckingDisabled {
		flags |= bitCD
	}
	if p.cut {
		flags |= bitTC
	}
	return appendWords(b, q.ID, flags, count(p.question), count(p.record), 0, count(p.opt))
}

// appendOPT appends the OPT record up to its options.
func (q *Question) appendOPT(b []byte, code dnsmessage.RCode, options int) []byte {
	var flags uint16
	if q.dnssecOK { // to be repeated also by those who have no DNSSEC records
		flags = bitDO
	}
	b = append(b, 0)
	b = appendWords(b, uint16(dnsmessage.TypeOPT), MaxQuery)
	b = append(b, byte(code>>4), 0)
	return appendWords(b, flags, uint16(options))
}

// appendAddress appends the address to answer with, if there is one.
func (a Answer) appendAddress(b []byte, t dnsmessage.Type) []byte {
	switch {
	case a.Code != dnsmessage.RCodeSuccess:
	case t == dnsmessage.TypeA && a.V4.Is4():
		v4 := a.V4.As4()
		b = append(b, v4[:]...)
	case t == dnsmessage.TypeAAAA && a.V6.Is6() && !a.V6.Is4In6():
		v6 := a.V6.As16()
		b = append(b, v6[:]...)
	}
	return b
}

// appendPrintable appends what may be sent of text: it ends up in terminals.
func appendPrintable(b []byte, text string) []byte {
	for _, r := range text {
		if len(b) == maxText {
			break
		}
		if r < ' ' || r > '~' {
			r = '?'
		}
		b = append(b, byte(r))
	}
	return b
}

func appendWords(b []byte, words ...uint16) []byte {
	for _, w := range words {
		b = binary.BigEndian.AppendUint16(b, w)
	}
	return b
}

func count(there bool) uint16 {
	if there {
		return 1
	}
	return 0
}
