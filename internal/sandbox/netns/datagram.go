package netns

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Where datagrams were to go that the rules reject is noted in two sets of the kernel's: the
// first of each family, and no packet is slower for being one of many. Whoever holds the
// socket can ask for them.
const (
	datagrams4, datagrams6 = "udp4", "udp6"
	maxDatagrams           = 64
)

// Packets is the name of the socket that tells of them.
const Packets = "packets"

// note adds where a datagram goes to the set of its family. The rule decides nothing, also
// when the set is full.
func (r *rules) note(chain *nftables.Chain) {
	for i, f := range []struct {
		name    string
		key     nftables.SetDatatype
		family  byte
		at, len uint32 // of the destination in the header
	}{
		{datagrams4, nftables.MustConcatSetType(nftables.TypeIPAddr, nftables.TypeInetService), unix.NFPROTO_IPV4, 16, 4},
		{datagrams6, nftables.MustConcatSetType(nftables.TypeIP6Addr, nftables.TypeInetService), unix.NFPROTO_IPV6, 24, 16},
	} {
		set := &nftables.Set{Table: r.table, ID: uint32(i + 1), Name: f.name, KeyType: f.key, Dynamic: true, Concatenation: true, Size: maxDatagrams}
		r.conn.AddSet(set, nil)
		const first = unix.NFT_REG32_00
		r.add(chain, network(f.family), transport(unix.IPPROTO_UDP), []expr.Any{
			&expr.Payload{DestRegister: first, Base: expr.PayloadBaseNetworkHeader, Offset: f.at, Len: f.len},
			&expr.Payload{DestRegister: first + f.len/4, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
			&expr.Dynset{SrcRegKey: first, SetName: f.name, SetID: set.ID, Operation: unix.NFT_DYNSET_OP_ADD},
		})
	}
}

// Datagrams implements rung.Net.
func (n *Network) Datagrams() (out []netip.AddrPort) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, set := range []string{datagrams4, datagrams6} {
		n.elements(set, func(key []byte) {
			if i := len(key) - 4; i == 4 || i == 16 {
				a, _ := netip.AddrFromSlice(key[:i])
				out = append(out, netip.AddrPortFrom(a, binary.BigEndian.Uint16(key[i:])))
			}
		})
	}
	return out
}

// elements asks for the keys of a set.
func (n *Network) elements(set string, each func(key []byte)) error {
	if n.packets < 0 {
		return errors.New("nobody tells")
	}
	n.id++
	if err := unix.Sendto(n.packets, askElements(set, n.id), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buf := n.room()
	for {
		size, _, err := unix.Recvfrom(n.packets, buf, 0)
		if err != nil {
			return err
		}
		done, err := readElements(buf[:size], n.id, each)
		if done || err != nil {
			return err
		}
	}
}

const nfnl = 10 << 8 // NFNL_SUBSYS_NFTABLES

// askElements is a NFT_MSG_GETSETELEM that wants all.
func askElements(set string, id uint32) []byte {
	ne := binary.NativeEndian
	b := make([]byte, unix.NLMSG_HDRLEN, 96)
	ne.PutUint16(b[4:], nfnl|unix.NFT_MSG_GETSETELEM)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	ne.PutUint32(b[8:], id)
	b = append(b, unix.NFPROTO_INET, 0, 0, 0)
	for i, text := range []string{tableName, set} { // NFTA_SET_ELEM_LIST_TABLE, NFTA_SET_ELEM_LIST_SET
		b = ne.AppendUint16(b, uint16(4+len(text)+1))
		b = ne.AppendUint16(b, uint16(i+1))
		b = append(b, text...)
		b = append(b, make([]byte, 4-len(text)%4)...)
	}
	ne.PutUint32(b, uint32(len(b)))
	return b
}

var errMessage = errors.New("no message of the kernel's")

// readElements reads some messages of an answer, and says whether they were the last.
func readElements(b []byte, id uint32, each func(key []byte)) (done bool, err error) {
	ne := binary.NativeEndian
	for len(b) >= unix.NLMSG_HDRLEN {
		size := int(ne.Uint32(b))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			return true, errMessage
		}
		kind, own, body := ne.Uint16(b[4:]), ne.Uint32(b[8:]) == id, b[unix.NLMSG_HDRLEN:size]
		switch {
		case !own:
		case kind == unix.NLMSG_DONE:
			return true, nil
		case kind == unix.NLMSG_ERROR:
			return true, errMessage
		case len(body) >= 4:
			attributes(body[4:], 3, func(list []byte) { // NFTA_SET_ELEM_LIST_ELEMENTS
				attributes(list, 1, func(element []byte) { // NFTA_LIST_ELEM
					attributes(element, 1, func(key []byte) { // NFTA_SET_ELEM_KEY
						attributes(key, 1, each) // NFTA_DATA_VALUE
					})
				})
			})
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return false, nil
}

// attributes calls each with the bodies of the attributes of one kind.
func attributes(b []byte, kind uint16, each func([]byte)) {
	ne := binary.NativeEndian
	for len(b) >= 4 {
		size := int(ne.Uint16(b))
		if size < 4 || size > len(b) {
			return
		}
		if ne.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			each(b[4:size])
		}
		b = b[min(len(b), (size+3)&^3):]
	}
}
