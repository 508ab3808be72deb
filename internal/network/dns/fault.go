package dns

import "golang.org/x/net/dns/dnsmessage"

// Error says why a message is not a valid query, and what its sender is told.
type Error struct {
	Code   dnsmessage.RCode // the answer to give, unless Drop
	Drop   bool             // give none
	Reason string
}

func (e *Error) Error() string { return "parse query: " + e.Reason }

// badVersion is an extended code: its upper eight bits travel in the OPT record.
const badVersion dnsmessage.RCode = 16

// All of them are made here and once, so that refusing costs no memory.
var (
	errShort  = &Error{Drop: true, Reason: "shorter than a header"}
	errAnswer = &Error{Drop: true, Reason: "an answer, not a query"}

	errOpcode = &Error{Code: dnsmessage.RCodeNotImplemented, Reason: "opcode is not QUERY"}
	errClass  = &Error{Code: dnsmessage.RCodeNotImplemented, Reason: "class is not IN"}

	errLong       = malformed("longer than a query may be")
	errQuestions  = malformed("not exactly one question")
	errRecords    = malformed("answer or authority records in a query")
	errAdditional = malformed("more than one additional record")
	errCut        = malformed("ends within the question")
	errName       = malformed("name is longer than 255 bytes")
	errLabel      = malformed("label is a pointer or longer than 63 bytes")
	errByte       = malformed("name has a byte that is not printable ASCII, or a dot within a label")
	errTrailing   = malformed("bytes after the question")
	errNotOPT     = malformed("additional record is not OPT")
	errOPTSize    = malformed("OPT record does not end where the message does")
	errOption     = malformed("EDNS options do not fill their record")

	errVersion = &Error{Code: badVersion, Reason: "EDNS version is not 0"}
)

func malformed(reason string) *Error {
	return &Error{Code: dnsmessage.RCodeFormatError, Reason: reason}
}
