package httpfwd

import (
	"io"
	"strconv"
)

// The statuses of refusals that ReadHead and CopyBody make.
const (
	BadRequest          = 400
	TargetTooLong       = 414
	ExpectationFailed   = 417
	FieldsTooLarge      = 431
	NotImplemented      = 501
	VersionNotSupported = 505
)

// Error is a refusal of what the client sent. After it nothing more can be read
// from the connection: answer with Status and close.
type Error struct {
	Status int
	Reason string // our own words, never the client's
}

func (e *Error) Error() string { return strconv.Itoa(e.Status) + ": " + e.Reason }

func bad(reason string) error { return &Error{BadRequest, reason} }

// cutOff is err of a read in the middle of a request.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
