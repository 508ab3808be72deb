package socks

import (
	"fmt"
	"io"
)

// Code says why a request is refused. Success is not among the codes: only
// Succeed says that.
type Code byte

// The codes of RFC 1928.
const (
	Failure             Code = 1
	NotAllowed          Code = 2
	NetworkUnreachable  Code = 3
	HostUnreachable     Code = 4
	ConnectionRefused   Code = 5
	TTLExpired          Code = 6
	CommandNotSupported Code = 7
	AddressNotSupported Code = 8
)

// Succeed tells the client that its tunnel is open.
func Succeed(w io.Writer) error { return reply(w, 0) }

// Refuse tells the client that there is no tunnel. The caller closes then.
func Refuse(w io.Writer, code Code) error {
	if code == 0 { // forgotten by the caller; it must not read as success
		code = Failure
	}
	return reply(w, code)
}

// reply names 0.0.0.0:0 as the bound address: the one on the host is no
// business of the sandbox.
func reply(w io.Writer, code Code) error {
	if _, err := w.Write([]byte{version, byte(code), 0, typeIPv4, 0, 0, 0, 0, 0, 0}); err != nil {
		return fmt.Errorf("write SOCKS reply: %w", err)
	}
	return nil
}
