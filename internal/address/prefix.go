package address

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Prefix is a rule about addresses: a range and one port.
type Prefix struct {
	Range netip.Prefix
	Port  uint16
}

// The shortest ranges that one rule may name: an office, not the world.
const (
	minBits4 = 16
	minBits6 = 48
)

// ParsePrefix reads ADDRESS:PORT, A.B.C.D/N:PORT, [ADDRESS]:PORT or [ADDRESS/N]:PORT.
func ParsePrefix(s string) (Prefix, error) {
	host, port, ok := cutLast(s, ':')
	if !ok {
		return Prefix{}, fmt.Errorf("%q: an address is allowed with one port, as in 192.168.1.20:5432", s)
	}
	n, err := ParsePort(port)
	if err != nil {
		return Prefix{}, fmt.Errorf("%q: %w", s, err)
	}
	inner, bracket := strings.CutPrefix(host, "[")
	if bracket {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return Prefix{}, fmt.Errorf("%q: an IPv6 range is written in brackets, as in [fd00::/64]:443", s)
		}
	}
	p, err := parseRange(inner)
	if err == nil && p.Addr().Is6() != bracket {
		err = errors.New("an IPv6 address is written in brackets, and no other")
	}
	if err == nil {
		err = checkRange(p)
	}
	if err != nil {
		return Prefix{}, fmt.Errorf("%q: %w", s, err)
	}
	return Prefix{p, n}, nil
}

// ParseDenied reads what a rule denies by its address: ADDRESS or RANGE for every port, or
// with :PORT as ParsePrefix has it. Port is 0 for every port. A rule may deny any range.
func ParseDenied(s string) (Prefix, error) {
	inner := s
	if in, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(in, "]") {
		inner = strings.TrimSuffix(in, "]")
	}
	if p, err := parseRange(inner); err == nil {
		return Prefix{Range: p}, notMapped(p)
	}
	host, port, ok := cutLast(s, ':')
	if !ok {
		return Prefix{}, fmt.Errorf("%q is not an address or a range", s)
	}
	n, err := ParsePort(port)
	if err != nil {
		return Prefix{}, fmt.Errorf("%q: %w", s, err)
	}
	inner, bracket := strings.CutPrefix(host, "[")
	if bracket {
		inner, ok = strings.CutSuffix(inner, "]")
	}
	p, err := parseRange(inner)
	if err != nil || !ok || p.Addr().Is6() != bracket {
		return Prefix{}, fmt.Errorf("%q is not an address or a range; IPv6 with a port is written as [fd00::/64]:443", s)
	}
	return Prefix{p, n}, notMapped(p)
}

// notMapped refuses addresses of IPv4 in the spelling of IPv6: they are compared as IPv4.
func notMapped(p netip.Prefix) error {
	if p.Addr().Is4In6() {
		return fmt.Errorf("%s is an address of IPv4: write %s", p, p.Addr().Unmap())
	}
	return nil
}

// Numeric holds for a rule about hosts that is meant to be an address or a range.
func Numeric(s string) bool {
	if strings.Trim(s, "0123456789abcdefABCDEF.:/[]") != "" {
		return false
	}
	return strings.ContainsAny(s, "[/") || strings.Count(s, ":") > 1 || strings.Trim(s, "0123456789.:") == ""
}

func parseRange(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("%q is not an address without a zone", s)
		}
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a range", s)
	}
	if p != p.Masked() {
		return netip.Prefix{}, fmt.Errorf("%q has bits beyond its length: write %s", s, p.Masked())
	}
	return p, nil
}

func checkRange(p netip.Prefix) error {
	if p.Addr().Is4() && p.Bits() < minBits4 || p.Addr().Is6() && p.Bits() < minBits6 {
		return fmt.Errorf("%s is too wide for one rule: at most /%d for IPv4 and /%d for IPv6", p, minBits4, minBits6)
	}
	if what, never := Never(p.Addr()); never {
		return fmt.Errorf("%s is %s, which no rule opens%s", p, what, map[bool]string{true: "; for a port of the host's loopback there is --host-port"}[what == loopback])
	}
	return nil
}

// Covers reports whether the rule allows an address and port.
func (p Prefix) Covers(a netip.Addr, port uint16) bool {
	return port == p.Port && p.Range.Contains(a)
}

// Within reports whether everything that p allows, over allows too.
func (p Prefix) Within(over Prefix) bool {
	return p.Port == over.Port && p.Range.Bits() >= over.Range.Bits() && over.Range.Contains(p.Range.Addr())
}

// String is the rule in its canonical spelling.
func (p Prefix) String() string {
	s := p.Range.String()
	if p.Range.IsSingleIP() {
		s = p.Range.Addr().String()
	}
	if p.Range.Addr().Is6() {
		s = "[" + s + "]"
	}
	return s + ":" + strconv.Itoa(int(p.Port))
}
