package world

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Packet is one that came over the cable and wanted something: the first of a TCP
// connection, any of UDP, an ICMP echo request.
type Packet struct {
	Proto string // tcp, udp, icmp
	Addr  netip.Addr
	Port  uint16 // 0 for icmp
}

// watch sees what comes over the cable, whether anybody listens for it or not.
type watch struct {
	mu   sync.Mutex
	fd   int
	file *os.File // holds fd, and waits for it
	seen []Packet
}

func newWatch(device string) (*watch, error) {
	dev, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	filter, err := wanted()
	if err != nil {
		return nil, err
	}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}); err != nil {
		return nil, err
	}
	const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network order
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: dev.Index}); err != nil {
		return nil, err
	}
	w := &watch{fd: fd, file: os.NewFile(uintptr(fd), "watch")}
	return w, w.follow()
}

// follow takes what comes as it comes: the kernel keeps little, and drops the rest.
func (w *watch) follow() error {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return err
	}
	go raw.Read(func(uintptr) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.read()
		return false // never done
	})
	return nil
}

// wanted is the filter. The kernel applies it, so that a bulk transfer costs
// nothing: of TCP it leaves only what has SYN set and ACK not.
func wanted() ([]unix.SockFilter, error) {
	const syn, ack = 0x02, 0x10
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: 15},
		bpf.LoadExtension{Num: bpf.ExtProto},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IP, SkipFalse: 6},
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipTrue: 12},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_ICMP, SkipTrue: 11},
		bpf.LoadMemShift{Off: 0},
		bpf.LoadIndirect{Off: 13, Size: 1},
		bpf.Jump{Skip: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IPV6, SkipFalse: 6},
		bpf.LoadAbsolute{Off: 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_ICMPV6, SkipTrue: 4},
		bpf.LoadAbsolute{Off: 40 + 13, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: syn | ack},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: syn, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: 256},
	})
	var out []unix.SockFilter
	for _, r := range raw {
		out = append(out, unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K})
	}
	return out, err
}

func (w *watch) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	w.seen = nil
}

// look returns what was seen so far.
func (w *watch) look() []Packet {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
	return append([]Packet(nil), w.seen...)
}

// read takes what waits in the kernel. A packet is there as soon as its sender's
// call has returned.
func (w *watch) read() {
	buf := make([]byte, 256)
	for {
		n, _, err := unix.Recvfrom(w.fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return
		}
		if p, ok := parsePacket(buf[:n]); ok {
			w.seen = append(w.seen, p)
		}
	}
}

func parsePacket(b []byte) (Packet, bool) {
	var p Packet
	var proto byte
	var rest []byte
	switch {
	case len(b) >= 20 && b[0]>>4 == 4 && len(b) >= int(b[0]&15)*4:
		p.Addr, proto, rest = netip.AddrFrom4([4]byte(b[16:20])), b[9], b[int(b[0]&15)*4:]
	case len(b) >= 40 && b[0]>>4 == 6:
		p.Addr, proto, rest = netip.AddrFrom16([16]byte(b[24:40])), b[6], b[40:]
	}
	if len(rest) < 4 {
		return p, false
	}
	const echo4, echo6 = 8, 128
	switch {
	case proto == unix.IPPROTO_TCP:
		p.Proto, p.Port = "tcp", binary.BigEndian.Uint16(rest[2:])
	case proto == unix.IPPROTO_UDP:
		p.Proto, p.Port = "udp", binary.BigEndian.Uint16(rest[2:])
	case proto == unix.IPPROTO_ICMP && rest[0] == echo4, proto == unix.IPPROTO_ICMPV6 && rest[0] == echo6:
		p.Proto = "icmp"
	}
	return p, p.Proto != ""
}
