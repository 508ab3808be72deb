package netns

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

const tableName = "ringfence"

// rules are those of one table, as they are written down.
type rules struct {
	conn  *nftables.Conn
	table *nftables.Table
}

// batch is what the kernel is told: rules that come into being all at once, or not.
func batch(write func(*rules)) ([]byte, error) {
	var out []byte
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
			out = append(out, b...)
		}
		return nil, nil
	}))
	if err != nil {
		return nil, err
	}
	write(&rules{c, c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: tableName})})
	if err := c.Flush(); err != nil {
		return nil, err
	}
	return out, nil
}

// chain adds a chain. What a filter has no rule for is dropped.
func (r *rules) chain(name string, kind nftables.ChainType, hook *nftables.ChainHook, priority *nftables.ChainPriority) *nftables.Chain {
	c := &nftables.Chain{Name: name, Table: r.table, Type: kind, Hooknum: hook, Priority: priority}
	if kind == nftables.ChainTypeFilter {
		drop := nftables.ChainPolicyDrop
		c.Policy = &drop
	}
	return r.conn.AddChain(c)
}

func (r *rules) add(chain *nftables.Chain, parts ...[]expr.Any) {
	rule := &nftables.Rule{Table: r.table, Chain: chain}
	for _, p := range parts {
		rule.Exprs = append(rule.Exprs, p...)
	}
	r.conn.AddRule(rule)
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

// to4 matches a prefix of whole bytes.
func to4(p netip.Prefix) []expr.Any {
	a, n := p.Addr().As4(), p.Bits()/8
	return append(network(unix.NFPROTO_IPV4),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 16, Len: uint32(n)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: a[:n]})
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

// turned leads to an address and port. It stands behind a match of the family.
func turned(to netip.AddrPort) []expr.Any {
	family := uint32(unix.NFPROTO_IPV4)
	if to.Addr().Is6() {
		family = unix.NFPROTO_IPV6
	}
	return []expr.Any{
		&expr.Immediate{Register: 1, Data: to.Addr().AsSlice()},
		&expr.Immediate{Register: 2, Data: binary.BigEndian.AppendUint16(nil, to.Port())},
		&expr.NAT{Type: expr.NATTypeDestNAT, Family: family, RegAddrMin: 1, RegProtoMin: 2},
	}
}

func reject() []expr.Any {
	return []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_PORT_UNREACH}}
}
