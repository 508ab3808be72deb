package probe

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// loopbackIndex is the number of the loopback interface, in every namespace.
const loopbackIndex = 1

// routes wants the addresses and routes of the namespace fixed. What is tried leads
// nowhere new, should it work.
func (t *NetTarget) routes(name string) Result {
	unused := netip.MustParseAddr("203.0.113.254").AsSlice()
	index := native32(loopbackIndex)
	address := append([]byte{unix.AF_INET, 32, 0, unix.RT_SCOPE_HOST}, index...)
	return t.judge(name, []way{
		{"a new address", func() error {
			return change(unix.NETLINK_ROUTE, message(unix.RTM_NEWADDR, unix.NLM_F_CREATE, address, attribute(unix.IFA_LOCAL, unused)))
		}},
		{"a new route", func() error {
			return change(unix.NETLINK_ROUTE, message(unix.RTM_NEWROUTE, unix.NLM_F_CREATE, route(unix.AF_INET, 32, unix.RT_TABLE_MAIN, unix.RTN_UNICAST),
				attribute(unix.RTA_DST, unused), attribute(unix.RTA_OIF, index)))
		}},
		{"the interface", func() error { return change(unix.NETLINK_ROUTE, linkUp()) }},
	})
}

// rules wants the packet rules of the namespace fixed: not even a table can be added
// that does nothing.
func (t *NetTarget) rules(name string) Result {
	const newTable = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWTABLE
	inet := []byte{unix.NFPROTO_INET, 0, 0, 0}
	batch := func(kind uint16) []byte {
		b := message(kind, 0, []byte{unix.AF_UNSPEC, 0, 0, unix.NFNL_SUBSYS_NFTABLES})
		binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST) // no answer of its own
		return b
	}
	table := message(newTable, unix.NLM_F_CREATE, inet, attribute(unix.NFTA_TABLE_NAME, []byte("ringfence-verify\x00")))
	msgs := append(append(batch(unix.NFNL_MSG_BATCH_BEGIN), table...), batch(unix.NFNL_MSG_BATCH_END)...)
	return t.judge(name, []way{{"a new table", func() error { return change(unix.NETLINK_NETFILTER, msgs) }}})
}

// change asks the kernel for a change. Either wall may answer: the filter, that there
// is no such socket, or the kernel, for want of a capability.
func change(protocol int, msgs []byte) error {
	err := exchange(protocol, msgs)
	if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EPROTONOSUPPORT) {
		return &beyond{err}
	}
	return err
}

// exchange sends netlink messages and returns the kernel's answer to them.
func exchange(protocol int, msgs []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(patience.Seconds())})
	if err := unix.Sendto(fd, msgs, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	b := make([]byte, 4<<10)
	n, _, err := unix.Recvfrom(fd, b, 0)
	switch {
	case err != nil:
		return err
	case n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(b[4:]) != unix.NLMSG_ERROR:
		return errors.New("the kernel answers something else")
	}
	if errno := -int32(binary.NativeEndian.Uint32(b[unix.NLMSG_HDRLEN:])); errno != 0 {
		return unix.Errno(errno)
	}
	return nil
}

// message is a netlink message that asks for an answer.
func message(kind, flags uint16, body []byte, attrs ...[]byte) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN)
	b = append(b, body...)
	for _, a := range attrs {
		b = append(b, a...)
	}
	ne := binary.NativeEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], kind)
	ne.PutUint16(b[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	ne.PutUint32(b[8:], 1)
	return b
}

func attribute(kind uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(data)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), data...)
	for len(b)%unix.NLA_ALIGNTO != 0 {
		b = append(b, 0)
	}
	return b
}

func native32(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }

// route is a struct rtmsg.
func route(family, bits, table, kind byte) []byte {
	return []byte{family, bits, 0, 0, table, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, kind, 0, 0, 0, 0}
}

// linkUp raises the loopback interface; where it is up already nothing changes.
func linkUp() []byte {
	body := append([]byte{unix.AF_UNSPEC, 0, 0, 0}, native32(loopbackIndex)...) // struct ifinfomsg
	body = append(append(body, native32(unix.IFF_UP)...), native32(unix.IFF_UP)...)
	return message(unix.RTM_NEWLINK, 0, body)
}
