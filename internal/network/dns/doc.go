// Package dns is the wire part of the gate's resolver: it reads queries, asks a
// Handler what the name stands for, and writes the reply, over UDP and over TCP.
// It knows nothing of policy and never looks anything up.
//
// # What it promises
//
// A query is read strictly: one question of class IN, at most one OPT record and
// no byte more. What is not of that form is refused by its error code or, if it
// is no query at all, dropped; the Handler never sees it. A reply holds the
// question byte for byte as it was asked, at most one record, which is an A or an
// AAAA, and for a sender that speaks EDNS a word on why. No other record is ever
// written, whatever was asked and whatever the Handler says: no CNAME, no TXT,
// and no HTTPS or SVCB with its hints on ALPN and ECH. Memory, goroutines and
// connections are bounded.
//
// Negative answers carry no SOA record. It would only say how long to remember
// them, and without it they are not remembered, which is what is wanted where a
// person may grant a name a second later.
//
// # What is left at risk
//
//   - The sender's address is whatever the sandbox says it is. A reply never
//     leaves the sandbox's own network namespace, and an answer is never answered,
//     so that a forged address makes no loop.
//   - Whoever is inside can use up the handlers and connections of the sandbox
//     that it is in. Others have gates of their own.
//   - A name that is asked for is itself a message, up to 253 bytes. Whether it
//     gets anywhere is up to the Handler.
package dns

// Bounds of the protocol, and those that are ours.
const (
	// MaxQuery bounds a query, over TCP as well. It leaves a thousand bytes to
	// EDNS options beside the longest question.
	MaxQuery = 1232

	// MaxUDP bounds a reply over UDP, whatever its receiver says it can take:
	// beyond this datagrams may be cut in pieces.
	MaxUDP = 1232

	minUDP     = 512 // what every receiver takes
	maxTCP     = 65535
	headerSize = 12
	maxName    = 255 // as sent, with the length bytes and the final zero
	maxLabel   = 63
	maxText    = 200
)

// Bits of the second word of the header.
const (
	bitQR = 1 << 15 // an answer, not a query
	bitTC = 1 << 9  // cut
	bitRD = 1 << 8  // recursion desired
	bitRA = 1 << 7  // recursion available
	bitCD = 1 << 4  // checking disabled

	opcodeShift = 11
	opcodeMask  = 0xf
)

// The OPT record: root, type, payload size, extended code, version, flags,
// length of the options.
const (
	optSize = 11
	bitDO   = 1 << 15 // of its flags: DNSSEC records welcome
)
