package sys

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// SocketInode is the number of the TCP socket with these two ends, in a network by its
// directory in procfs; 0: there is none.
func SocketInode(dir string, from, to netip.AddrPort) uint64 {
	for _, name := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) < 10 || procAddr(f[1]) != unmapped(from) || procAddr(f[2]) != unmapped(to) {
				continue
			}
			if n, err := strconv.ParseUint(f[9], 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// procAddr reads an end as procfs writes it: words of the machine, and the port.
func procAddr(s string) netip.AddrPort {
	a, p, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(a)
	port, perr := strconv.ParseUint(p, 16, 16)
	if err != nil || perr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, _ := netip.AddrFromSlice(b)
	return unmapped(netip.AddrPortFrom(addr, uint16(port)))
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
