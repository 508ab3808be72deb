package probe

import (
	"net"

	"golang.org/x/sys/unix"
)

// loopback wants the listeners on the host's loopback out of reach.
func loopback(t *Target) Result {
	const name = "loopback"
	for _, a := range t.TCP {
		if c, err := net.DialTimeout("tcp", a, patience); err == nil {
			c.Close()
			return open(name, "a connection to %s of the host was made", a)
		}
	}
	return closed(name, "%d listeners of the host are out of reach", len(t.TCP))
}

// abstract wants the host's abstract socket out of reach: it has no file that a
// mount could hide, only the network namespace and Landlock stand before it.
func abstract(t *Target) Result {
	const name = "abstract"
	c, err := net.DialTimeout("unix", "@"+t.Abstract, patience)
	if err == nil {
		c.Close()
		return open(name, "a connection to the host's abstract socket was made")
	}
	return refused(name, err, unix.ECONNREFUSED, unix.EPERM)
}

// families wants socket families that lead out of the namespace, or into rarely
// walked kernel code, to look as if this kernel did not have them. Netlink comes
// first because every kernel has it: outside, the probe ends there, and no module
// is loaded by the others.
func families(*Target) Result {
	const name = "families"
	for _, s := range []struct {
		what                string
		family, kind, proto int
		want                error
	}{
		{"netlink kobject-uevent", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT, unix.EPROTONOSUPPORT},
		{"netlink audit", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT, unix.EPROTONOSUPPORT},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0, unix.EAFNOSUPPORT},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0, unix.EAFNOSUPPORT},
		{"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, unix.EAFNOSUPPORT},
		{"bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 0, unix.EAFNOSUPPORT},
		{"raw IP", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP, unix.EPERM},
	} {
		fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, s.proto)
		if err == nil {
			unix.Close(fd)
		}
		if r := refused(name, err, s.want); r.Open {
			return open(name, "%s: %s", s.what, r.Detail)
		}
	}
	return closed(name, "answered by the filter")
}
