package netns

import (
	"encoding/binary"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Listening lists the TCP ports at which somebody listens inside. It asks the sandbox's
// network. The files of proc say the same, but for each of them the kernel goes through
// all connections of the machine: a millisecond, of each session, again and again.
func (n *Network) Listening() []uint16 {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []uint16
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := n.listeners(family, func(port uint16) { out = append(out, port) }); err != nil {
			return sys.Listeners("/proc/" + strconv.Itoa(n.pid) + "/net")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sockDiag is SOCK_DIAG_BY_FAMILY.
const sockDiag = 20

// askSockets asks for sockets of TCP, in these states (inet_diag_req_v2).
func askSockets(id uint32, flags uint16, family byte, states uint32) []byte {
	ne := binary.NativeEndian
	b := make([]byte, unix.NLMSG_HDRLEN+56)
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], sockDiag)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	ne.PutUint32(b[8:], id)
	q := b[unix.NLMSG_HDRLEN:]
	q[0], q[1] = family, unix.IPPROTO_TCP
	ne.PutUint32(q[4:], states)
	return b
}

func (n *Network) listeners(family byte, each func(port uint16)) error {
	if n.diag < 0 {
		return os.ErrClosed
	}
	n.id++
	ask := askSockets(n.id, unix.NLM_F_DUMP, family, 1<<unix.BPF_TCP_LISTEN)
	if err := unix.Sendto(n.diag, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	buf := n.room()
	for {
		size, _, err := unix.Recvfrom(n.diag, buf, 0)
		if err != nil {
			return err
		}
		done, err := readListeners(buf[:size], n.id, each)
		if done || err != nil {
			return err
		}
	}
}

// room is for answers of the kernel. It is asked again and again, and most answers are short.
func (n *Network) room() []byte {
	if n.answer == nil {
		n.answer = make([]byte, 32<<10)
	}
	return n.answer
}

// readListeners reads some messages of an answer, and says whether they were the last.
func readListeners(b []byte, id uint32, each func(port uint16)) (done bool, err error) {
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
		case kind != sockDiag || len(body) < 6:
			return true, errMessage
		default:
			each(binary.BigEndian.Uint16(body[4:])) // idiag_sport
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return false, nil
}
