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
	"encoding/binary"
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
	rules, err := ruleset()
	if err != nil {
		return nil, fmt.Errorf("nftables rules: %w", err)
	}
	c := &plan.Capture{Rules: rules}
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
	return &plan.Capture{Listen: []plan.Listen{{Name: BrokerPort, Network: "tcp", Port: Broker}}}
}

// localDefault is `ip route add local default dev lo`. The loopback interface is
// always number 1.
func localDefault(family uint8) ([]byte, error) {
	const loopback = 1
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(unix.RTA_OIF, loopback)
	attrs, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	// struct rtmsg: family, lengths, tos, table, protocol, scope, type, flags
	body := append([]byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}, attrs...)
	m := netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWROUTE, Sequence: 1,
		Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl}, Data: body}
	m.Header.Length = uint32(16 + len(body))
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
//	    reject with icmpx port-unreachable
//	  }
//	}
func ruleset() ([]byte, error) {
	var batch []byte
	c, err := nftables.New(nftables.WithTestDial(func(req []netlink.Message) ([]netlink.Message, error) {
		for i, m := range req {
			if m.Header.Length == 0 {
				m.Header.Length = uint32(16 + len(m.Data))
			}
			m.Header.Sequence = uint32(i + 1)
			m.Header.Flags &^= netlink.Echo // an answer is enough, we know what we said
			b, err := m.MarshalBinary()
			if err != nil {
				return nil, err
			}
			batch = append(batch, b...)
		}
		return nil, nil
	}))
	if err != nil {
		return nil, err
	}
	table := c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "ringfence"})
	turn := c.AddChain(&nftables.Chain{Name: "turn", Table: table, Type: nftables.ChainTypeNAT,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityNATDest})
	drop := nftables.ChainPolicyDrop
	refuse := c.AddChain(&nftables.Chain{Name: "refuse", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookOutput, Priority: nftables.ChainPriorityFilter, Policy: &drop})
	add := func(chain *nftables.Chain, parts ...[]expr.Any) {
		r := &nftables.Rule{Table: table, Chain: chain}
		for _, p := range parts {
			r.Exprs = append(r.Exprs, p...)
		}
		c.AddRule(r)
	}
	for _, proto := range []byte{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
		add(turn, transport(proto), port(53), redirect(Resolver))
	}
	own4, own6 := to4(netip.MustParsePrefix("127.0.0.0/8")), to6(netip.IPv6Loopback())
	add(turn, own4, verdict(expr.VerdictReturn))
	add(turn, own6, verdict(expr.VerdictReturn))
	add(turn, transport(unix.IPPROTO_TCP), redirect(Port))
	add(refuse, known(), verdict(expr.VerdictAccept))
	add(refuse, own4, verdict(expr.VerdictAccept))
	add(refuse, own6, verdict(expr.VerdictAccept))
	add(refuse, []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_PORT_UNREACH}})
	if err := c.Flush(); err != nil {
		return nil, err
	}
	return batch, nil
}

func transport(proto byte) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{proto}},
	}
}

// known matches packets of connections that the rules have let begin.
func known() []expr.Any {
	mask := make([]byte, 4)
	binary.NativeEndian.PutUint32(mask, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED)
	return []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATE, Register: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: mask, Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
	}
}

func port(n uint16) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{byte(n >> 8), byte(n)}},
	}
}

func network(family byte) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{family}},
	}
}

func to4(p netip.Prefix) []expr.Any {
	a := p.Addr().As4()
	return append(network(unix.NFPROTO_IPV4),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: a[:1]})
}

func to6(to netip.Addr) []expr.Any {
	a := to.As16()
	return append(network(unix.NFPROTO_IPV6),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 24, Len: 16},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: a[:]})
}

func redirect(to uint16) []expr.Any {
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: []byte{byte(to >> 8), byte(to)}},
		&expr.Redir{RegisterProtoMin: 1},
	}
}

func verdict(k expr.VerdictKind) []expr.Any { return []expr.Any{&expr.Verdict{Kind: k}} }
