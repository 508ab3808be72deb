// Package serial is what test and guest say to each other over a serial line:
// one JSON object a line, a command one way, its outcome the other.
package serial

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Command is a program to run in the guest.
type Command struct {
	UID   int      `json:"uid"`
	Group string   `json:"group,omitempty"` // cgroup to be born in, below the top; "" is that of the guest itself
	Args  []string `json:"args"`
	Env   []string `json:"env,omitempty"`
	TTY   bool     `json:"tty,omitempty"` // stderr is a terminal
}

// Outcome is how it went.
type Outcome struct {
	Status int    `json:"status"` // 128+n where signal n ended it
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Error  string `json:"error,omitempty"` // the guest could not run it
}

// maxLine bounds one message; the longest is a report of verify.
const maxLine = 1 << 20

// Send writes one message.
func Send(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("serial line: %w", err)
	}
	if _, err := w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("serial line: %w", err)
	}
	return nil
}

// NewReader makes a reader that holds one message at most.
func NewReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, maxLine) }

// Receive reads one message. Everything that is not exactly one is an error.
func Receive(r *bufio.Reader, v any) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("serial line after %d bytes: %w", len(line), err)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("serial line: %.200q: %w", line, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("serial line: %.200q: more than one message", line)
	}
	return nil
}
