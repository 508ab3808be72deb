package upstream

import (
	"fmt"
	"io"

	"ringfence.dev/ringfence/internal/address"
)

// The bytes of SOCKS5 (RFC 1928, 1929) that we speak.
const (
	version     = 5
	noLogin     = 0
	byPassword  = 2
	noneOfThese = 0xff
	connect     = 1
	typeIPv4    = 1
	typeName    = 3
	typeIPv6    = 4
)

// askSOCKS is SOCKS5 with one way to log in: the one that the URL has.
func (p *Proxy) askSOCKS(c io.ReadWriter, t address.Target) error {
	method := byte(noLogin)
	if p.login {
		method = byPassword
	}
	answer, err := exchange(c, []byte{version, 1, method}, 2)
	switch {
	case err != nil:
		return err
	case answer[0] != version:
		return failed("does not speak SOCKS5")
	case answer[1] == noneOfThese && p.login:
		return refused("takes no login by name and password")
	case answer[1] == noneOfThese:
		return refused("wants a login; ALL_PROXY can hold it, as socks5h://USER:PASSWORD@HOST:PORT")
	case answer[1] != method:
		return failed("does not speak SOCKS5")
	}
	if p.login {
		if err := p.logIn(c); err != nil {
			return err
		}
	}
	return request(c, t)
}

func (p *Proxy) logIn(c io.ReadWriter) error {
	b := append([]byte{1, byte(len(p.user))}, p.user...) // Parse bounds both
	b = append(append(b, byte(len(p.pass))), p.pass...)
	answer, err := exchange(c, b, 2)
	if err != nil {
		return err
	}
	if answer[0] != 1 || answer[1] != 0 {
		return refused("does not accept the login")
	}
	return nil
}

// request asks for a connection, and reads the answer to its last byte.
func request(c io.ReadWriter, t address.Target) error {
	b := []byte{version, connect, 0}
	switch {
	case len(t.Name) > 255: // no name has so many
		return failed("cannot be asked for a name of that length")
	case t.Name != "":
		b = append(append(b, typeName, byte(len(t.Name))), t.Name...)
	case t.Addr.Is4():
		b = append(append(b, typeIPv4), t.Addr.AsSlice()...)
	default:
		b = append(append(b, typeIPv6), t.Addr.AsSlice()...)
	}
	head, err := exchange(c, append(b, byte(t.Port>>8), byte(t.Port)), 4)
	switch {
	case err != nil:
		return err
	case head[0] != version || head[2] != 0:
		return failed("does not speak SOCKS5")
	case head[1] == 2:
		return refused("refuses this host (SOCKS5 code 2)")
	case head[1] != 0:
		return failed(fmt.Sprintf("did not reach the host (SOCKS5 code %d)", head[1]))
	}
	return skipBound(c, head[3])
}

// skipBound reads past the address that the proxy connected from.
func skipBound(c io.ReadWriter, kind byte) error {
	size := 0
	switch kind {
	case typeIPv4:
		size = 4
	case typeIPv6:
		size = 16
	case typeName:
		n, err := exchange(c, nil, 1)
		if err != nil {
			return err
		}
		size = int(n[0])
	default:
		return failed("does not speak SOCKS5")
	}
	_, err := exchange(c, nil, size+2)
	return err
}

// exchange writes, and reads as many bytes as the answer has.
func exchange(c io.ReadWriter, ask []byte, n int) ([]byte, error) {
	if len(ask) > 0 {
		if _, err := c.Write(ask); err != nil {
			return nil, failed("went away")
		}
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, failed("went away")
	}
	return b, nil
}
