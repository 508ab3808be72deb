package gate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
)

// socks is the server's side of a SOCKS5 handshake (RFC 1928), as far as the gate offers
// it: no authentication, CONNECT alone. It never takes a byte more than the handshake
// has, for what follows belongs to the tunnel. A request that it refuses is read to its
// end where the end is known, so that closing does not destroy the reply.
//
// Left at risk: a client that stops in the middle is waited for; deadlines are the
// caller's.
type socks struct{ io.ReadWriter }

const (
	socksVersion = 5
	socksConnect = 1
	socksIPv4    = 1
	socksDomain  = 3
	socksIPv6    = 4
)

// socksCode is what a client is told.
type socksCode byte

const (
	socksSuccess     socksCode = 0
	socksFailure     socksCode = 1
	socksNotAllowed  socksCode = 2
	socksNoCommand   socksCode = 7
	socksNoAddress   socksCode = 8
	socksNobodyThere socksCode = 0xff // ours: there is nobody to tell
)

// errSOCKS is in the chain of every error that the client's bytes caused. Other errors
// are those of the connection.
var errSOCKS = errors.New("bad SOCKS request")

// socksTarget is where a client wants to go. Whether the name is a proper one, and
// where either leads, is for the caller to judge.
type socksTarget struct {
	name string     // any bytes, as they were sent
	addr netip.Addr // where there is no name
	port uint16     // never 0
}

// target does the handshake up to the point where the client waits for the verdict: the
// caller owes it a reply. If there is an error the client has been told where the
// protocol has words for it, and nothing is owed.
func (s socks) target() (socksTarget, error) {
	if err := s.greet(); err != nil {
		return socksTarget{}, err
	}
	t, code, err := s.request()
	if err != nil {
		if code != socksNobodyThere {
			_ = s.reply(code) // the connection ends either way
		}
		return socksTarget{}, err
	}
	return t, nil
}

// reply names 0.0.0.0:0 as the bound address: the one on the host is no business of the
// sandbox.
func (s socks) reply(code socksCode) error {
	if _, err := s.Write([]byte{socksVersion, byte(code), 0, socksIPv4, 0, 0, 0, 0, 0, 0}); err != nil {
		return fmt.Errorf("write SOCKS reply: %w", err)
	}
	return nil
}

// read reads all of b. An end in the middle is told from one before anything came.
func (s socks) read(b []byte) error {
	_, err := io.ReadFull(s, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// greet settles on no authentication. Clients of other versions get no answer: they
// would not understand it.
func (s socks) greet() error {
	var head [2]byte // version, number of methods
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return fmt.Errorf("read SOCKS greeting: %w", err)
	}
	if head[0] != socksVersion {
		return badSOCKS("version %d", head[0])
	}
	methods := make([]byte, head[1])
	if err := s.read(methods); err != nil {
		return fmt.Errorf("read SOCKS methods: %w", err)
	}
	if bytes.IndexByte(methods, 0) < 0 {
		_, _ = s.Write([]byte{socksVersion, 0xff})
		return badSOCKS("no method without authentication among %d", len(methods))
	}
	if _, err := s.Write([]byte{socksVersion, 0}); err != nil {
		return fmt.Errorf("write SOCKS method: %w", err)
	}
	return nil
}

// request reads a whole request before it judges it. code is what to tell the client if
// there is an error.
func (s socks) request() (t socksTarget, code socksCode, err error) {
	var head [4]byte // version, command, reserved, type of address
	if err := s.read(head[:]); err != nil {
		return t, socksNobodyThere, fmt.Errorf("read SOCKS request: %w", err)
	}
	if head[0] != socksVersion || head[2] != 0 {
		return t, socksFailure, badSOCKS("version %d of the request, reserved byte %#02x", head[0], head[2])
	}
	size := map[byte]int{socksIPv4: 4, socksIPv6: 16}[head[3]]
	if head[3] == socksDomain {
		var n [1]byte
		if err := s.read(n[:]); err != nil {
			return t, socksNobodyThere, fmt.Errorf("read SOCKS address: %w", err)
		}
		size = int(n[0])
	}
	known := size > 0 || head[3] == socksDomain
	rest := make([]byte, size+2)
	if known {
		if err := s.read(rest); err != nil {
			return t, socksNobodyThere, fmt.Errorf("read SOCKS address: %w", err)
		}
	}
	switch {
	case head[1] != socksConnect:
		return t, socksNoCommand, badSOCKS("command %d", head[1])
	case !known:
		return t, socksNoAddress, badSOCKS("address of type %d", head[3])
	}
	if t.port = binary.BigEndian.Uint16(rest[size:]); t.port == 0 {
		return socksTarget{}, socksNotAllowed, badSOCKS("port 0")
	}
	if head[3] == socksDomain {
		t.name = string(rest[:size])
	} else {
		t.addr, _ = netip.AddrFromSlice(rest[:size])
	}
	return t, socksSuccess, nil
}

func badSOCKS(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSOCKS, fmt.Sprintf(format, args...))
}
