package verify

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// anyPort is judged by name and number alone: its rule says so.
const anyPort = 7077

// attempts is what is tried for one check, and where it would lead.
type attempts struct {
	tries []probe.Try
	hosts []string // names and addresses
}

// Addresses that stand for the public network: they are kept for documentation, and
// nothing is ever sent to them.
func public(n byte) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, 113, n}) }

func public6(n byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 15: n})
}

// last is whose origin ends the gate.
var last = public(31)

// guarded are the checks of addresses that no name may lead to: each is asked for by
// a name that is allowed and resolves there and, if it is foreign to the sandbox, by
// itself.
var guarded = map[string]struct {
	addrs []string
	local bool // within the sandbox the address itself is the sandbox's own
}{
	"gate-loopback": {[]string{"127.0.0.1", "127.77.77.77", "::1", "0.0.0.0"}, true},
	"gate-embedded": {[]string{"::ffff:127.0.0.77", "::ffff:10.7.7.7", "::127.0.0.77", "64:ff9b::7f00:4d", "64:ff9b:1::a07:707",
		"2002:7f00:4d::77", "2001:0:7f00:4d::77"}, false},
	"gate-metadata": {[]string{"169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"}, false},
	"gate-private4": {[]string{"10.77.77.77", "172.22.77.77", "192.168.77.77", "100.77.77.77", "169.254.77.77"}, false},
	"gate-private6": {[]string{"fd77:7777::77", "fc00::77", "fd7a:115c:a1e0::77", "fec0::77"}, false},
}

// zone is a domain whose names the throw-away sandbox may reach.
type zone string

func (p *plant) zone() zone { return zone(p.id + ".ringfence-verify.test") }

func (z zone) allowed(check string, n byte) string {
	return probe.HostName(public(n), check+"."+string(z))
}

func (z zone) denied(check string, n byte) string {
	return probe.HostName(public(n), check+".not-"+string(z))
}

// attempts says what is tried, check by check.
func (p *plant) attempts() map[string]attempts {
	z, out := p.zone(), map[string]attempts{}
	for check, g := range guarded {
		var a attempts
		for _, text := range g.addrs {
			a.lead(netip.MustParseAddr(text), check+"."+string(z), !g.local)
		}
		out[check] = a
	}
	var own attempts
	for _, addr := range p.ownAddresses() {
		own.lead(addr, "gate-own."+string(z), true)
	}
	out["gate-own"] = own
	for check, tries := range map[string][]probe.Try{"gate-literal": z.literals(), "gate-name": z.strangers(), "gate-tls": z.otherServers(),
		"gate-http": z.otherHosts(), "gate-broker": z.brokered(), "gate-decoy": z.decoys(p.decoy), "reach": z.welcome(), "death": {{Host: probe.HostName(last, "death."+string(z)), Port: anyPort}}} {
		a := attempts{tries: tries}
		for _, t := range tries {
			if t.Host != loopback { // which only leads to the proxy endpoint
				a.hosts = append(a.hosts, t.Host)
			}
		}
		out[check] = a
	}
	out["gate-proxy"] = z.proxied()
	return out
}

// lead tries an address by a name and, if it is foreign, by itself.
func (a *attempts) lead(addr netip.Addr, rest string, foreign bool) {
	hosts := []string{probe.HostName(addr, rest)}
	if foreign {
		hosts = append(hosts, addr.String())
	}
	for _, h := range hosts {
		a.tries = append(a.tries, probe.Try{Host: h, Port: anyPort})
		a.hosts = append(a.hosts, h)
	}
}

// ownAddresses are those of the host's interfaces. One that needs an interface to
// have a meaning cannot be named by a resolver.
func (p *plant) ownAddresses() []netip.Addr {
	const most = 8
	var out []netip.Addr
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, _ := netip.AddrFromSlice(n.IP)
		if addr = addr.Unmap(); addr.IsValid() && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() && len(out) < most {
			out = append(out, addr)
		}
	}
	if len(out) == 0 {
		out = append(out, netip.AddrFrom4([4]byte{127, 0, 0, 99}))
		p.standIn["gate-own"] = "this host has no address but loopback, which stands for it"
	}
	return out
}

// literals are public addresses without a name, also when what is said there is for a
// host that is allowed.
func (z zone) literals() []probe.Try {
	name := z.allowed("gate-literal", 71)
	return []probe.Try{
		{Host: public(72).String(), Port: anyPort},
		{Host: public6(72).String(), Port: anyPort},
		{Host: public(73).String(), Port: 443, Say: clientHello(name)},
		{Host: public6(73).String(), Port: 443, Say: clientHello(name)},
		{Host: public(74).String(), Port: 80, Say: request("/", name)},
	}
}

// strangers are names that no rule allows; the domain itself is none of the names
// below it.
func (z zone) strangers() []probe.Try {
	return []probe.Try{{Host: z.denied("gate-name", 61), Port: anyPort}, {Host: string(z), Port: anyPort}}
}

func (z zone) otherServers() []probe.Try {
	name := z.allowed("gate-tls", 21)
	return []probe.Try{
		{Host: name, Port: 443, Say: clientHello(z.allowed("gate-tls", 22))},
		{Host: name, Port: 443, Say: clientHello(z.denied("gate-tls", 23))},
	}
}

func (z zone) otherHosts() []probe.Try {
	name, other, denied := z.allowed("gate-http", 24), z.allowed("gate-http", 25), z.denied("gate-http", 26)
	return []probe.Try{
		{Host: name, Port: 80, Say: request("/", other)},
		{Host: name, Port: 80, Say: request("/", denied)},
		{Host: name, Port: 80, Say: request("http://"+denied+"/", name)},
	}
}

// brokeredName is allowed, and the broker's: its credential is kept there.
func (z zone) brokeredName() string { return z.allowed("gate-broker", 41) }

// brokered asks for a brokered host without the broker, as somebody would who brought
// a key of another account along.
func (z zone) brokered() []probe.Try {
	name := z.brokeredName()
	return []probe.Try{
		{Host: name, Port: 443, Say: clientHello(name)},
		{Host: name, Port: 80, Say: request("/", name)},
		{Host: name, Port: anyPort},
		{Host: loopback, Port: netns.Proxy, Say: connect(name)},
	}
}

// decoys sends a decoy to a host that is allowed.
func (z zone) decoys(decoy string) []probe.Try {
	name := z.allowed("gate-decoy", 42)
	return []probe.Try{
		{Host: name, Port: 80, Say: request("/?q="+decoy, name)},
		{Host: name, Port: 80, Say: request("/"+hex.EncodeToString([]byte(decoy)), name)},
	}
}

// welcome is what must work, of every protocol and by every way in.
func (z zone) welcome() []probe.Try {
	raw, web, proxied := z.allowed("reach", 11), z.allowed("reach", 12), z.allowed("reach", 13)
	out := []probe.Try{
		{Host: raw, Port: anyPort},
		{Host: web, Port: 443, Say: clientHello(web)},
		{Host: web, Port: 80, Say: request("/", web)},
		{Host: loopback, Port: netns.Proxy, Say: connect(proxied)},
		{Host: loopback, Port: netns.Proxy, Say: socksRequest(proxied)},
	}
	// A kernel without IPv6 has no route to ask about.
	if fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		unix.Close(fd)
		out = append(out, probe.Try{Host: probe.HostName(public6(11), "reach."+string(z)), Port: anyPort})
	}
	return out
}

// proxied asks the proxy endpoint for what nothing else leads to.
func (z zone) proxied() attempts {
	name := z.denied("gate-proxy", 51)
	a := attempts{hosts: []string{name}}
	says := [][]byte{connect(name), socksRequest(name), request(fmt.Sprintf("http://%s:%d/", name, anyPort), name)}
	for _, host := range []string{"127.0.0.51", "169.254.170.2", "10.77.77.51", public(52).String()} {
		a.hosts = append(a.hosts, host)
		says = append(says, connect(host))
	}
	for _, s := range says {
		a.tries = append(a.tries, probe.Try{Host: loopback, Port: netns.Proxy, Say: s})
	}
	return a
}

const loopback = "127.0.0.1"

func connect(host string) []byte {
	return fmt.Appendf(nil, "CONNECT %s:%d HTTP/1.1\r\nHost: %[1]s:%[2]d\r\n\r\n", host, anyPort)
}

func request(target, host string) []byte {
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, host)
}

// socksRequest is the greeting of SOCKS5 and a request for a name, in one.
func socksRequest(name string) []byte {
	b := append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(name))}, name...)
	return append(b, anyPort>>8, anyPort&0xff)
}

// clientHello is the least that asks a TLS server for a name.
func clientHello(name string) []byte {
	sized := func(n int, b ...byte) []byte { // with its length before it, in n bytes
		var out []byte
		for i := n - 1; i >= 0; i-- {
			out = append(out, byte(len(b)>>(8*i)))
		}
		return append(out, b...)
	}
	serverName := sized(2, sized(2, append([]byte{0}, sized(2, []byte(name)...)...)...)...)
	extensions := append([]byte{0, 0}, serverName...)
	extensions = append(extensions, 0, 43, 0, 3, 2, 3, 4) // supported_versions: TLS 1.3
	body := append([]byte{3, 3}, make([]byte, 32)...)     // version, random
	body = append(body, 0, 0, 2, 0x13, 1, 1, 0)           // no session, one suite, no compression
	body = append(body, sized(2, extensions...)...)
	return append([]byte{22, 3, 1}, sized(2, append([]byte{1}, sized(3, body...)...)...)...)
}
