package address

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Target is where one connection is to go: a name, or an address as it was given.
type Target struct {
	Name Name
	Addr netip.Addr // valid only where Name is ""
	Port uint16
}

func (t Target) String() string {
	if t.Name != "" {
		return string(t.Name) + ":" + strconv.Itoa(int(t.Port))
	}
	return netip.AddrPortFrom(t.Addr, t.Port).String()
}

// Host is the name or the address alone; "" if it is neither.
func (t Target) Host() string {
	if t.Name != "" || !t.Addr.IsValid() {
		return string(t.Name)
	}
	return t.Addr.String()
}

// Unreached is why a target was not reached. Its words may be told to the agent: they
// name no address of the host's network and quote nothing.
type Unreached struct{ Reason string }

// Error implements error.
func (u *Unreached) Error() string { return u.Reason }

// ParseTarget reads HOST:PORT as CONNECT has it: both are there, and nothing else.
func ParseTarget(s string) (Target, error) {
	host, port, ok := cutLast(s, ':')
	if !ok {
		return Target{}, errors.New("there is no port")
	}
	n, err := ParsePort(port)
	if err != nil {
		return Target{}, err
	}
	t, err := ParseHost(host)
	t.Port = n
	return t, err
}

// ParseHost reads a name, an IPv4 address, or an IPv6 address in brackets.
func ParseHost(s string) (Target, error) {
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return Target{}, errors.New("a bracket is not closed")
		}
		a, err := netip.ParseAddr(inner)
		if err != nil || !a.Is6() || a.Zone() != "" {
			return Target{}, fmt.Errorf("%q is not an IPv6 address without a zone", inner)
		}
		return Target{Addr: a}, nil
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return Target{Addr: a}, nil
	}
	n, err := ParseName(s)
	return Target{Name: n}, err
}

// ParsePort reads 1 to 65535 without sign, space or leading zero.
func ParsePort(s string) (uint16, error) {
	if s == "" || len(s) > 5 || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a port", s)
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not a port", s)
	}
	return uint16(n), nil
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	if i := strings.LastIndexByte(s, sep); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
