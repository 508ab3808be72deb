package link

import "errors"

// Violation is something that an honest other end never does. It ends the link.
type Violation string

func (v Violation) Error() string { return "protocol violation: " + string(v) }

// All of them.
const (
	WrongPreface   Violation = "it does not begin as the other end of a link does"
	UnknownType    Violation = "a frame of an unknown type"
	ReservedBits   Violation = "reserved bits are set"
	WrongLength    Violation = "a frame of a length that its type cannot have"
	WrongStream    Violation = "a frame of the link on a stream, or the reverse"
	WrongSide      Violation = "only the other side may send this"
	WrongNumber    Violation = "a new stream without the next number"
	WrongKind      Violation = "a stream of an unknown kind"
	WrongHeader    Violation = "a header that is not well formed"
	UnknownStream  Violation = "a frame for a stream that does not exist"
	AfterEnd       Violation = "a frame after the last one of its stream"
	DataAfterFin   Violation = "data after the end of data"
	FinTwice       Violation = "the end of data twice"
	EarlyDone      Violation = "done before both sides have ended their data"
	EmptyData      Violation = "data without a byte"
	WindowExceeded Violation = "more data than its window"
	MessageTooLong Violation = "a message over the bound"
	WrongMessage   Violation = "a message that is not well formed, or not its to send"
	CreditOverflow Violation = "credit of nothing, or over the bound"
	UnknownReset   Violation = "a reset of an unknown reason"
	PingFlood      Violation = "a ping before the last one was answered"
	PongUnasked    Violation = "an answer to no ping"
	OpenFlood      Violation = "new streams while too many refused ones are not yet ended"
)

// Reset says why a stream ended before both sides had ended their data.
type Reset uint8

// The reasons. Whoever resets a stream chooses one; none of them carries text.
const (
	Gone    Reset = 1 + iota // this side has no more use for the stream
	TooMany                  // MaxStreams are open
	Refused                  // not allowed, or nobody listens
	Failed                   // it was tried and did not work
)

var resetTexts = [...]string{Gone: "closed by the other end", TooMany: "too many streams", Refused: "refused", Failed: "failed"}

func (r Reset) Error() string { return "stream reset: " + resetTexts[r] }

func (r Reset) valid() bool { return r >= Gone && r <= Failed }

// How a link ends without a violation.
var (
	ErrClosed  = errors.New("the link is closed")
	ErrEnded   = errors.New("the other end closed the link")
	ErrCut     = errors.New("the link was cut within a frame")
	ErrSilent  = errors.New("the other end does not answer")
	ErrTooMany = errors.New("too many streams are open")
	ErrUsedUp  = errors.New("all stream numbers of the link are used up")
)
