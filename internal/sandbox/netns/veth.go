package netns

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// The two ends of a veth pair. The addresses are of ranges that lead nowhere: what RFC 7335
// keeps for the two ends of one line, and one of IPv6's private ones.
var (
	near = end{"agent0", plan.VethMAC[0], netip.MustParseAddr("192.0.0.1"), netip.MustParseAddr("fd72:6e67:6663::1")}
	far  = end{"gate0", plan.VethMAC[1], netip.MustParseAddr("192.0.0.2"), netip.MustParseAddr("fd72:6e67:6663::2")}
)

type end struct {
	name   string
	mac    [6]byte
	v4, v6 netip.Addr
}

// index is the number of either end. Some kernels put a few interfaces into a new
// namespace; none of them comes as far.
const index = 1000

// OverVeth is the same capture for an agent whose network stack is not the kernel's: its
// frames come by a veth pair. Nothing but its two addresses has a route. TCP and DNS are
// turned to the gate as they arrive, and everything else is refused at once.
func OverVeth(c *plan.Capture) (*plan.Capture, error) {
	rules, err := batch(func(r *rules) { vethRules(r, c.Listen) })
	if err != nil {
		return nil, fmt.Errorf("nftables rules: %w", err)
	}
	v := &plan.Veth{}
	if v.Pair, err = pair(); err == nil {
		v.Quiet, err = quiet()
	}
	if err != nil {
		return nil, fmt.Errorf("veth pair: %w", err)
	}
	for _, six := range []bool{false, true} {
		n, nerr := near.settle(far, six, false)
		f, ferr := far.settle(near, six, true)
		if err := errors.Join(nerr, ferr); err != nil {
			return nil, fmt.Errorf("veth pair: %w", err)
		}
		v.Near, v.Far = append(v.Near, n), append(v.Far, f)
	}
	return &plan.Capture{Rules: rules, Listen: c.Listen, Gate: plan.Gate{V4: near.v4, V6: near.v6}, Veth: v}, nil
}

// vethRules are, in nft's own words:
//
//	table inet ringfence {
//	  chain turn { type nat hook prerouting priority dstnat;
//	    meta l4proto { tcp, udp } th dport 53 dnat to GATE:53
//	    ip daddr GATE tcp dport { 53, 801, 808, 809, … } return   (the gate's own ports)
//	    meta l4proto tcp dnat to GATE:801
//	  }
//	  chain refuse { type filter hook prerouting priority filter; policy drop;
//	    ct state established,related accept
//	    ip daddr GATE meta l4proto tcp accept
//	    ip daddr GATE udp dport 53 accept
//	    ip protocol udp add @udp4 { ip daddr . udp dport }   (only noted; IPv6 alike)
//	    reject with icmpx port-unreachable
//	  }
//	  chain answer { type filter hook output priority filter; policy drop;
//	    ct state established,related accept
//	  }
//	  chain pass { type filter hook forward priority filter; policy drop; }
//	}
func vethRules(r *rules, ports []plan.Listen) {
	turn := r.chain("turn", nftables.ChainTypeNAT, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest)
	refuse := r.chain("refuse", nftables.ChainTypeFilter, nftables.ChainHookPrerouting, nftables.ChainPriorityFilter)
	answer := r.chain("answer", nftables.ChainTypeFilter, nftables.ChainHookOutput, nftables.ChainPriorityFilter)
	r.chain("pass", nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter)
	r.add(refuse, known(), verdict(expr.VerdictAccept))
	for _, family := range []struct {
		is, gate []expr.Any
		at       netip.Addr
	}{
		{network(unix.NFPROTO_IPV4), to4(netip.PrefixFrom(near.v4, 32)), near.v4},
		{network(unix.NFPROTO_IPV6), to6(near.v6), near.v6},
	} {
		for _, proto := range []byte{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
			r.add(turn, family.is, transport(proto), port(53), turned(netip.AddrPortFrom(family.at, Resolver)))
		}
		for _, l := range ports {
			if l.Network == "tcp" {
				r.add(turn, family.gate, transport(unix.IPPROTO_TCP), port(uint16(l.Port)), verdict(expr.VerdictReturn))
			}
		}
		r.add(turn, family.is, transport(unix.IPPROTO_TCP), turned(netip.AddrPortFrom(family.at, Port)))
		r.add(refuse, family.gate, transport(unix.IPPROTO_TCP), verdict(expr.VerdictAccept))
		r.add(refuse, family.gate, transport(unix.IPPROTO_UDP), port(53), verdict(expr.VerdictAccept))
	}
	r.note(refuse)
	r.add(refuse, reject())
	r.add(answer, known(), verdict(expr.VerdictAccept))
}

// pair makes both ends.
func pair() ([]byte, error) {
	const vethPeer = 1 // VETH_INFO_PEER
	return message(unix.RTM_NEWLINK, linkHead(index, 0), func(ae *netlink.AttributeEncoder) {
		near.describe(ae)
		nested(ae, unix.IFLA_LINKINFO, func(ae *netlink.AttributeEncoder) {
			ae.String(unix.IFLA_INFO_KIND, "veth")
			nested(ae, unix.IFLA_INFO_DATA, func(ae *netlink.AttributeEncoder) {
				ae.Do(unix.NLA_F_NESTED|vethPeer, func() ([]byte, error) {
					peer := netlink.NewAttributeEncoder()
					far.describe(peer)
					peer.Uint32(unix.IFLA_NET_NS_FD, plan.FarFD)
					attrs, err := peer.Encode()
					return append(linkHead(index, 0), attrs...), err
				})
			})
		})
	})
}

func (e end) describe(ae *netlink.AttributeEncoder) {
	ae.String(unix.IFLA_IFNAME, e.name)
	ae.Bytes(unix.IFLA_ADDRESS, e.mac[:])
}

// quiet keeps an end from making up addresses: what there is is what is said here.
func quiet() ([]byte, error) {
	const genMode, none = 8, 1 // IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE
	return message(unix.RTM_SETLINK, linkHead(index, 0), func(ae *netlink.AttributeEncoder) {
		nested(ae, unix.IFLA_AF_SPEC, func(ae *netlink.AttributeEncoder) {
			nested(ae, unix.AF_INET6, func(ae *netlink.AttributeEncoder) { ae.Uint8(genMode, none) })
		})
	})
}

func nested(ae *netlink.AttributeEncoder, typ uint16, fill func(*netlink.AttributeEncoder)) {
	ae.Nested(typ, func(ae *netlink.AttributeEncoder) error {
		fill(ae)
		return nil
	})
}

// everywhere is all but multicast, broadcast and what IPv6 has for the neighbours on a line:
// who sends to those is told at once that there is no way, and no kernel answers them
// otherwise. A program that names the interface besides asks for a neighbour all the same.
func everywhere(six bool) []netip.Prefix {
	if six {
		return append(without(netip.MustParsePrefix("::/0"), netip.MustParsePrefix("fe00::/7")),
			without(netip.MustParsePrefix("fe00::/8"), netip.MustParsePrefix("fe80::/10"))...)
	}
	return append(without(netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("224.0.0.0/3")),
		without(netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"))...)
}

// without is all of a prefix but for one within it.
func without(all, but netip.Prefix) (out []netip.Prefix) {
	for bits := all.Bits(); bits < but.Bits(); bits++ {
		a := but.Addr().AsSlice() // of the two halves the one in which it is not
		a[bits/8] ^= 0x80 >> (bits % 8)
		other, _ := netip.AddrFromSlice(a)
		out = append(out, netip.PrefixFrom(other, bits+1).Masked())
	}
	return out
}

// settle raises an end, gives it its address and tells it who the other is. Nobody else is
// on the line: who asks for another address there would wait for an answer, and so that is
// a way through the other end like any. The far one gets a loopback and has the other end
// as its way to everywhere.
func (e end) settle(other end, six, out bool) ([]byte, error) {
	family, at, to := byte(unix.AF_INET), e.v4, other.v4
	if six {
		family, at, to = unix.AF_INET6, e.v6, other.v6
	}
	number := []byte{index & 0xff, index >> 8, 0, 0} // both machines we build for are little-endian
	var all []byte
	var err error
	add := func(kind netlink.HeaderType, head []byte, attributes func(*netlink.AttributeEncoder)) {
		b, merr := message(kind, head, attributes)
		all, err = append(all, b...), errors.Join(err, merr)
	}
	nothing := func(*netlink.AttributeEncoder) {}
	if out && !six {
		add(unix.RTM_SETLINK, linkHead(loopback, unix.IFF_UP), nothing)
	}
	if !six {
		add(unix.RTM_SETLINK, linkHead(index, unix.IFF_UP), nothing)
	}
	// struct ifaddrmsg: family, length of the prefix, flags, scope, interface
	add(unix.RTM_NEWADDR, append([]byte{family, byte(at.BitLen()), unix.IFA_F_NODAD, 0}, number...), func(ae *netlink.AttributeEncoder) {
		ae.Bytes(unix.IFA_LOCAL, at.AsSlice())
		ae.Bytes(unix.IFA_ADDRESS, at.AsSlice())
	})
	// struct ndmsg: family, nothing, interface, state, flags, type. Nobody has to ask.
	neighbour := append(append([]byte{family, 0, 0, 0}, number...), unix.NUD_PERMANENT, 0, 0, 0)
	add(unix.RTM_NEWNEIGH, neighbour, func(ae *netlink.AttributeEncoder) {
		ae.Bytes(unix.NDA_DST, to.AsSlice())
		ae.Bytes(unix.NDA_LLADDR, other.mac[:])
	})
	route := func(dst netip.Prefix, scope byte, by netip.Addr) {
		head := routeHead(family, unix.RT_TABLE_MAIN, scope, unix.RTN_UNICAST)
		head[1] = byte(dst.Bits())
		add(unix.RTM_NEWROUTE, head, func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.RTA_DST, dst.Addr().AsSlice())
			if by.IsValid() {
				ae.Bytes(unix.RTA_GATEWAY, by.AsSlice())
			}
			ae.Uint32(unix.RTA_OIF, index)
		})
	}
	route(netip.PrefixFrom(to, to.BitLen()), unix.RT_SCOPE_LINK, netip.Addr{})
	if !out {
		return all, err
	}
	for _, dst := range everywhere(six) {
		route(dst, unix.RT_SCOPE_UNIVERSE, to)
	}
	return all, err
}

// linkHead is a struct ifinfomsg: nothing, number, flags, and which of them are set.
func linkHead(n uint16, flags byte) []byte {
	return []byte{0, 0, 0, 0, byte(n), byte(n >> 8), 0, 0, flags, 0, 0, 0, flags, 0, 0, 0}
}
