package upstream

import (
	"net/netip"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// exception is one entry of NO_PROXY: what is reached without the proxy. It lets nothing
// pass that the gate's rules do not: who is reached directly is looked up on the host,
// and its address judged.
type exception struct {
	all   bool
	name  address.Name // it, and all below it
	addrs netip.Prefix // of literal addresses
	port  uint16       // 0: every one
}

// exceptions reads NO_PROXY: names, domains with a dot or a star in front, addresses,
// ranges, each with a port or without, and * for everything.
func exceptions(list string) (out []exception, unread []string) {
	for text := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if e, ok := parseException(text); ok {
			out = append(out, e)
		} else {
			unread = append(unread, text)
		}
	}
	return out, unread
}

func parseException(text string) (e exception, ok bool) {
	if text == "*" {
		return exception{all: true}, true
	}
	if p, ok := parsePrefix(text); ok {
		return exception{addrs: p}, true
	}
	if host, port, found := cutPort(text); found {
		n, err := address.ParsePort(port)
		if err != nil {
			return e, false
		}
		text, e.port = host, n
	}
	if p, ok := parsePrefix(text); ok {
		e.addrs = p
		return e, true
	}
	n, err := address.ParseName(strings.TrimPrefix(strings.TrimPrefix(text, "*"), "."))
	e.name = n
	return e, err == nil
}

// cutPort cuts HOST:PORT and [ADDRESS]:PORT.
func cutPort(text string) (host, port string, ok bool) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 || strings.Contains(text[:at], ":") && text[at-1] != ']' {
		return text, "", false
	}
	return text[:at], text[at+1:], true
}

// parsePrefix reads an address, with brackets or without, or a range.
func parsePrefix(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return netip.Prefix{}, false
		}
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

// Skips holds for a target that is reached without the proxy.
func (p *Proxy) Skips(t address.Target) bool {
	for _, e := range p.direct {
		if e.port == 0 || e.port == t.Port {
			if e.all || e.covers(t) {
				return true
			}
		}
	}
	return false
}

func (e exception) covers(t address.Target) bool {
	if t.Name == "" {
		return e.addrs.IsValid() && e.addrs.Contains(t.Addr)
	}
	return e.name != "" && (t.Name == e.name || t.Name.Under(e.name))
}
