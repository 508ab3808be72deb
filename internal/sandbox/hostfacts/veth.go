package hostfacts

import (
	"context"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// veth is no wall of every rung: gVisor's own network stack needs a pair of interfaces.
var veth = trial{name: "veth", flags: unix.CLONE_NEWNET, try: tryVeth}

// TryVeth makes a veth pair in a throw-away child.
func TryVeth(ctx context.Context) error { return veth.run(ctx) }

func tryVeth(string) error {
	msg := []byte{48, 0, 0, 0, unix.RTM_NEWLINK, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0} // both machines we build for are little-endian
	flags := unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE | unix.NLM_F_EXCL
	msg[6], msg[7] = byte(flags), byte(flags>>8)
	msg = append(msg, make([]byte, unix.SizeofIfInfomsg)...)
	msg = append(msg, 16, 0, unix.IFLA_LINKINFO, 0, 9, 0, unix.IFLA_INFO_KIND, 0)
	msg = append(msg, "veth\x00\x00\x00\x00"...)
	return step("make a veth pair", sys.Netlink(unix.NETLINK_ROUTE, msg))
}
