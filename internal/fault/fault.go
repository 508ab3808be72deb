// Package fault holds the one error type that a person sees: what failed, why,
// and the one command that helps. Code below the edge wraps with fmt.Errorf and
// %w; an Error is made where the cause and the cure are both known.
package fault

import (
	"errors"
	"fmt"
)

// Kind sorts errors by what the caller should do, and so by exit status.
type Kind int

const (
	// Failed is anything that went wrong before the agent was started.
	Failed Kind = iota
	// Refused means ringfence would not do it: a policy or a wall said no.
	Refused
	// Usage means the command line or a file the user wrote is wrong.
	Usage
	// NotFound means the program to run does not exist.
	NotFound
	// NotExecutable means the program exists and cannot be executed.
	NotExecutable
)

// Error is an error with its cure.
type Error struct {
	Kind Kind
	Op   string // what was being done, in the words of the user
	Hint string // one command or one sentence that helps; may be empty
	Err  error  // the cause
}

// New returns an Error of the given kind; the message may wrap with %w.
func New(kind Kind, hint, format string, args ...any) *Error {
	return &Error{Kind: kind, Hint: hint, Err: fmt.Errorf(format, args...)}
}

func (e *Error) Error() string {
	if e.Op == "" {
		return e.Err.Error()
	}
	return e.Op + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf reports the kind of the outermost Error in err's chain.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}

// HintOf returns the first hint in err's chain, or "".
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// ExitStatus maps an error before exec to the status that docker and env use.
func ExitStatus(err error) int {
	switch KindOf(err) {
	case NotFound:
		return 127
	case NotExecutable:
		return 126
	case Usage:
		return 2
	default:
		return 125
	}
}
