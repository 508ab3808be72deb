package socks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

const (
	version    = 5
	noAuth     = 0x00
	noneOffers = 0xff // none of the methods offered will do
	connect    = 1
	typeIPv4   = 1
	typeDomain = 3
	typeIPv6   = 4
)

// ErrRequest is in the chain of every error that the client's bytes caused.
// Other errors are those of the connection.
var ErrRequest = errors.New("bad SOCKS request")

// Target is where a client wants to go.
type Target struct {
	Host    string // a domain name as it was sent, or an address in its usual text form
	Port    uint16 // never 0
	Literal bool   // Host is an address
}

// ReadTarget does the handshake up to the point where the client waits for the
// verdict: the caller owes it Succeed or Refuse. If there is an error the client
// has been told where the protocol has words for it, and nothing is owed.
func ReadTarget(rw io.ReadWriter) (Target, error) {
	if err := greet(rw); err != nil {
		return Target{}, err
	}
	t, code, err := request(rw)
	if err != nil {
		if code != 0 {
			_ = Refuse(rw, code) // the connection ends either way
		}
		return Target{}, err
	}
	return t, nil
}

// greet settles on no authentication. Clients of other versions get no answer:
// they would not understand it.
func greet(rw io.ReadWriter) error {
	var head [2]byte // version, number of methods
	if _, err := io.ReadFull(rw, head[:]); err != nil {
		return fmt.Errorf("read SOCKS greeting: %w", err)
	}
	if head[0] != version {
		return bad("version %d", head[0])
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(rw, methods); err != nil {
		return fmt.Errorf("read SOCKS methods: %w", cut(err))
	}
	if bytes.IndexByte(methods, noAuth) < 0 {
		_, _ = rw.Write([]byte{version, noneOffers})
		return bad("no method without authentication among %d", len(methods))
	}
	if _, err := rw.Write([]byte{version, noAuth}); err != nil {
		return fmt.Errorf("write SOCKS method: %w", err)
	}
	return nil
}

// request reads a whole request before it judges it. code is what to tell the
// client if there is an error; 0 if there is nobody to tell.
func request(r io.Reader) (t Target, code Code, err error) {
	var head [4]byte // version, command, reserved, type of address
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Target{}, 0, fmt.Errorf("read SOCKS request: %w", cut(err))
	}
	if head[0] != version {
		return Target{}, Failure, bad("version %d of the request", head[0])
	}
	if head[2] != 0 {
		return Target{}, Failure, bad("reserved byte %#02x", head[2])
	}
	n, err := addressLength(r, head[3])
	if err != nil {
		return Target{}, 0, err
	}
	if n < 0 { // of unknown length
		if head[1] != connect {
			return Target{}, CommandNotSupported, bad("command %d", head[1])
		}
		return Target{}, AddressNotSupported, bad("address of type %d", head[3])
	}
	rest := make([]byte, n+2)
	if _, err := io.ReadFull(r, rest); err != nil {
		return Target{}, 0, fmt.Errorf("read SOCKS address: %w", cut(err))
	}
	if head[1] != connect {
		return Target{}, CommandNotSupported, bad("command %d", head[1])
	}
	return judge(head[3], rest[:n], binary.BigEndian.Uint16(rest[n:]))
}

// addressLength returns -1 for a type that we do not know.
func addressLength(r io.Reader, kind byte) (int, error) {
	switch kind {
	case typeIPv4:
		return 4, nil
	case typeIPv6:
		return 16, nil
	case typeDomain:
		var n [1]byte
		if _, err := io.ReadFull(r, n[:]); err != nil {
			return 0, fmt.Errorf("read SOCKS address: %w", cut(err))
		}
		return int(n[0]), nil
	}
	return -1, nil
}

func judge(kind byte, address []byte, port uint16) (Target, Code, error) {
	t := Target{Host: string(address), Port: port}
	if kind == typeDomain {
		if len(address) == 0 {
			return Target{}, Failure, bad("empty name")
		}
		if !nameBytes(address) {
			return Target{}, NotAllowed, bad("name %q has bytes that no name has", address)
		}
		if numeric(t.Host) {
			return Target{}, NotAllowed, bad("name %q is an address", address)
		}
	} else {
		addr, _ := netip.AddrFromSlice(address)
		t.Host, t.Literal = addr.String(), true
	}
	if port == 0 {
		return Target{}, NotAllowed, bad("port 0")
	}
	return t, 0, nil
}

// nameBytes reports whether b is letters, digits, hyphens and dots alone. What
// else may come in these raw bytes (NUL, "[", ":", "%") is read in one way by us
// and in another by a resolver.
func nameBytes(b []byte) bool {
	for _, c := range b {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		digit := '0' <= c && c <= '9'
		if !letter && !digit && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// numeric reports whether a resolver may read the name as an IPv4 address:
// "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.1". All of them, and
// no name of the public DNS, have a number as their last label.
func numeric(name string) bool {
	name = strings.ToLower(strings.TrimRight(name, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		last, digits = "0"+hex, "0123456789abcdef" // "0x" alone counts too
	}
	return last != "" && strings.Trim(last, digits) == ""
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRequest, fmt.Sprintf(format, args...))
}

// cut tells an end in the middle from an end before anything came.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
