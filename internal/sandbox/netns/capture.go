// Package netns says how the network of a sandbox is made to end at the gate:
// which routes and nftables rules its namespace gets, and which sockets are opened
// there for the supervisor. It builds messages for the kernel and sends none: the
// inside stage sends them while it still may.
//
// Every address is local to the namespace (a local default route on lo), so that no
// packet has anywhere to go. TCP is turned to the gate's listener, DNS over either
// transport to the gate's resolver wherever it was addressed, the namespace's own
// loopback is left alone, and everything else is refused at once.
package netns

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// The gate's own ports on the namespace's loopback. They are below 1024: nobody
// inside can bind there, so no server of the user's is ever in the way.
const (
	Port     = 801 // redirected TCP arrives here
	Proxy    = 808 // for programs that insist on a proxy
	Broker   = 809 // plain HTTP to the broker
	Resolver = 53
)

// The pools from which names get the addresses that stand for them: the ranges
// that RFC 2544 and RFC 5180 keep for benchmarks, which lead nowhere else.
var (
	Pool4 = netip.MustParsePrefix("198.18.0.0/15")
	Pool6 = netip.MustParsePrefix("2001:2::/48")
)

// The names by which the supervisor knows the sockets.
const (
	TCP, UDPResolver, TCPResolver, ProxyPort, BrokerPort = "tcp", "dns/udp", "dns/tcp", "proxy", "broker"
	HostPort                                             = "host-port/" // and the number
	Diag                                                 = "diag"       // netlink socket that tells who owns a connection
)

// Make builds the capture of a session that may reach hostPorts of the host.
func Make(hostPorts []uint16) (*plan.Capture, error) {
	rules, err := batch(ruleset)
	if err != nil {
		return nil, fmt.Errorf("nftables rules: %w", err)
	}
	c := &plan.Capture{Rules: rules, Gate: plan.Gate{V4: netip.AddrFrom4([4]byte{127, 0, 0, 1}), V6: netip.IPv6Loopback()}}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		route, err := localDefault(family)
		if err != nil {
			return nil, fmt.Errorf("route: %w", err)
		}
		c.Routes = append(c.Routes, route)
	}
	add := func(name, network string, port int) {
		c.Listen = append(c.Listen, plan.Listen{Name: name, Network: network, Port: port})
	}
	add(TCP, "tcp", Port)
	add(UDPResolver, "udp", Resolver)
	add(TCPResolver, "tcp", Resolver)
	add(ProxyPort, "tcp", Proxy)
	add(BrokerPort, "tcp", Broker)
	for _, p := range hostPorts {
		add(HostPort+strconv.Itoa(int(p)), "tcp", int(p))
	}
	return c, nil
}

// Endpoint is the network of a session that has none: its own loopback, at which nobody
// but the broker is found. There are no routes and no rules, because nothing leads anywhere.
func Endpoint() *plan.Capture {
	return &plan.Capture{Gate: plan.Gate{V4: netip.AddrFrom4([4]byte{127, 0, 0, 1}), V6: netip.IPv6Loopback()}, Listen: []plan.Listen{{Name: BrokerPort, Network: "tcp", Port: Broker}}}
}

// localDefault is `ip route add local default dev lo`. The loopback interface is
// always number 1.
func localDefault(family uint8) ([]byte, error) {
	return message(unix.RTM_NEWROUTE, routeHead(family, unix.RT_TABLE_LOCAL, unix.RT_SCOPE_HOST, unix.RTN_LOCAL), func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.RTA_OIF, loopback)
	})
}

const loopback = 1

// routeHead is a struct rtmsg: family, lengths, tos, table, protocol, scope, type, flags.
func routeHead(family, table, scope, kind byte) []byte {
	return []byte{family, 0, 0, 0, table, unix.RTPROT_STATIC, scope, kind, 0, 0, 0, 0}
}

// message is one of rtnetlink's: it makes or sets something, and wants an answer.
func message(kind netlink.HeaderType, head []byte, attributes func(*netlink.AttributeEncoder)) ([]byte, error) {
	ae := netlink.NewAttributeEncoder()
	attributes(ae)
	attrs, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	m := netlink.Message{Header: netlink.Header{Type: kind, Sequence: 1, Flags: netlink.Request | netlink.Acknowledge}, Data: append(head, attrs...)}
	if kind != unix.RTM_SETLINK { // that one is there already
		m.Header.Flags |= netlink.Create | netlink.Excl
	}
	m.Header.Length = uint32(16 + len(m.Data))
	return m.MarshalBinary()
}

// ruleset is, in nft's own words:
//
//	table inet ringfence {
//	  chain turn { type nat hook output priority dstnat;
//	    meta l4proto { tcp, udp } th dport 53 redirect to :53
//	    ip daddr 127.0.0.0/8 return
//	    ip6 daddr ::1 return
//	    meta l4proto tcp redirect to :801
//	  }
//	  chain refuse { type filter hook output priority filter; policy drop;
//	    ct state established,related accept   (the gate's answers)
//	    ip daddr 127.0.0.0/8 accept
//	    ip6 daddr ::1 accept
//	    ip protocol udp add @udp4 { ip daddr . udp dport }   (only noted; IPv6 alike)
//	    reject with icmpx port-unreachable
//	  }
//	}
func ruleset(r *rules) {
	turn := r.chain("turn", nftables.ChainTypeNAT, nftables.ChainHookOutput, nftables.ChainPriorityNATDest)
	refuse := r.chain("refuse", nftables.ChainTypeFilter, nftables.ChainHookOutput, nftables.ChainPriorityFilter)
	for _, proto := range []byte{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
		r.add(turn, transport(proto), port(53), redirect(Resolver))
	}
	own4, own6 := to4(netip.MustParsePrefix("127.0.0.0/8")), to6(netip.IPv6Loopback())
	r.add(turn, own4, verdict(expr.VerdictReturn))
	r.add(turn, own6, verdict(expr.VerdictReturn))
	r.add(turn, transport(unix.IPPROTO_TCP), redirect(Port))
	r.add(refuse, known(), verdict(expr.VerdictAccept))
	r.add(refuse, own4, verdict(expr.VerdictAccept))
	r.add(refuse, own6, verdict(expr.VerdictAccept))
	r.note(refuse)
	r.add(refuse, reject())
}
