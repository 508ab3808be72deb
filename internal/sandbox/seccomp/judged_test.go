package seccomp

import "testing"

// judged lists what calls with particular arguments are answered. Values are
// plain numbers: the constants of the package are under test as well.
var judged = []struct {
	call string
	args []uint64
	want verdict
}{
	{"socket", []uint64{1, 1, 0}, allow},            // AF_UNIX stream
	{"socket", []uint64{1, 2 | 0x80800, 0}, allow},  // datagram, CLOEXEC and NONBLOCK
	{"socket", []uint64{1, 5, 0}, allow},            // seqpacket
	{"socket", []uint64{2, 1, 0}, allow},            // AF_INET
	{"socket", []uint64{2, 1 | 0x80800, 6}, allow},  // TCP by name
	{"socket", []uint64{10, 1, 6}, allow},           // AF_INET6
	{"socket", []uint64{2, 2, 17}, allow},           // UDP by name
	{"socket", []uint64{10, 2 | 0x80000, 0}, allow}, // UDP
	{"socket", []uint64{2, 1, 262}, noProtocol},     // MPTCP
	{"socket", []uint64{2, 1, 132}, noProtocol},     // SCTP
	{"socket", []uint64{2, 2, 136}, noProtocol},     // UDP-Lite
	{"socket", []uint64{2, 2, 1}, noProtocol},       // ping
	{"socket", []uint64{10, 2 | 0x80000, 58}, noProtocol},
	{"socket", []uint64{2, 2, 0xffffffff}, noProtocol}, // -1
	{"socket", []uint64{2, 3, 1}, refuse},              // raw
	{"socket", []uint64{2, 3 | 0x80800, 6}, refuse},
	{"socket", []uint64{10, 3, 58}, refuse},
	{"socket", []uint64{2, 10, 0x300}, refuse}, // SOCK_PACKET: AF_PACKET by its old name
	{"socket", []uint64{2, 5, 132}, refuse},    // SCTP seqpacket
	{"socket", []uint64{2, 0, 0}, refuse},
	{"socket", []uint64{16, 3, 0}, allow}, // NETLINK_ROUTE, raw as everybody asks for it
	{"socket", []uint64{16, 2 | 0x80000, 0}, allow},
	{"socket", []uint64{16, 3, 4}, noProtocol},  // SOCK_DIAG
	{"socket", []uint64{16, 3, 6}, noProtocol},  // XFRM
	{"socket", []uint64{16, 3, 9}, noProtocol},  // AUDIT
	{"socket", []uint64{16, 3, 12}, noProtocol}, // NETFILTER
	{"socket", []uint64{16, 3, 15}, noProtocol}, // KOBJECT_UEVENT
	{"socket", []uint64{16, 3, 16}, noProtocol}, // GENERIC
	{"socket", []uint64{0, 1, 0}, noFamily},
	{"socket", []uint64{17, 3, 0x300}, noFamily}, // PACKET
	{"socket", []uint64{38, 5, 0}, noFamily},     // ALG
	{"socket", []uint64{40, 1, 0}, noFamily},     // VSOCK
	{"socket", []uint64{15, 3, 2}, noFamily},     // KEY
	{"socket", []uint64{44, 3, 0}, noFamily},     // XDP
	{"socket", []uint64{31, 1, 0}, noFamily},     // BLUETOOTH
	{"socket", []uint64{10000, 1, 0}, noFamily},
	{"socket", []uint64{0xffffffff, 1, 0}, noFamily},

	{"socketpair", []uint64{1, 1, 0}, allow},
	{"socketpair", []uint64{30, 1, 0}, noFamily}, // TIPC
	{"socketpair", []uint64{2, 1, 0}, noFamily},

	{"clone", []uint64{17}, allow},          // fork
	{"clone", []uint64{0x3d0f00}, allow},    // a thread as glibc makes it
	{"clone", []uint64{0x01200011}, allow},  // fork as glibc makes it
	{"clone", []uint64{0x4111}, allow},      // vfork
	{"clone", []uint64{0x5111}, allow},      // with CLONE_PIDFD
	{"clone", []uint64{0x80000011}, allow},  // CLONE_IO
	{"clone", []uint64{0x10000011}, refuse}, // NEWUSER
	{"clone", []uint64{0x00020011}, refuse}, // NEWNS
	{"clone", []uint64{0x02000011}, refuse}, // NEWCGROUP
	{"clone", []uint64{0x04000011}, refuse}, // NEWUTS
	{"clone", []uint64{0x08000011}, refuse}, // NEWIPC
	{"clone", []uint64{0x20000011}, refuse}, // NEWPID
	{"clone", []uint64{0x40000011}, refuse}, // NEWNET
	{"clone", []uint64{0x00000091}, refuse}, // NEWTIME
	{"clone", []uint64{0x7e020091}, refuse}, // all of them

	{"unshare", []uint64{0}, allow},
	{"unshare", []uint64{0x40600}, allow},     // FS, FILES, SYSVSEM
	{"unshare", []uint64{0x10000000}, refuse}, // NEWUSER
	{"unshare", []uint64{0x10000200}, refuse}, // hidden among allowed ones
	{"unshare", []uint64{0x00020000}, refuse}, // NEWNS
	{"unshare", []uint64{0x80}, refuse},       // NEWTIME
	{"unshare", []uint64{0x00100000}, refuse}, // a flag of later kernels: an empty mount namespace

	{"ioctl", []uint64{0, 0x5401}, allow},              // TCGETS
	{"ioctl", []uint64{0, 0x5413}, allow},              // TIOCGWINSZ
	{"ioctl", []uint64{0, 0x540e}, allow},              // TIOCSCTTY
	{"ioctl", []uint64{0x5412, 0x5421, 0x5412}, allow}, // FIONBIO; only the request counts
	{"ioctl", []uint64{0, 0x5412}, refuse},             // TIOCSTI
	{"ioctl", []uint64{0, 0x541c}, refuse},             // TIOCLINUX
	{"ioctl", []uint64{0, 0x541d}, refuse},             // TIOCCONS
	{"ioctl", []uint64{0, 0x5423}, refuse},             // TIOCSETD

	{"personality", []uint64{0}, allow},
	{"personality", []uint64{8}, allow},       // PER_LINUX32
	{"personality", []uint64{0x20000}, allow}, // UNAME26
	{"personality", []uint64{0x20008}, allow},
	{"personality", []uint64{0xffffffff}, allow}, // the question
	{"personality", []uint64{0x0040000}, refuse}, // ADDR_NO_RANDOMIZE
	{"personality", []uint64{0x0400000}, refuse}, // READ_IMPLIES_EXEC
	{"personality", []uint64{0x0100000}, refuse}, // MMAP_PAGE_ZERO

	{"mknod", []uint64{0, 0o10644}, allow},                // FIFO
	{"mknod", []uint64{0, 0o140755}, allow},               // socket
	{"mknod", []uint64{0, 0o644}, allow},                  // plain
	{"mknod", []uint64{0o20000, 0o10644, 0o20000}, allow}, // only the mode counts
	{"mknod", []uint64{0, 0o20644}, refuse},               // character device
	{"mknod", []uint64{0, 0o60644}, refuse},               // block device

	{"mknodat", []uint64{0o20000, 0o20000, 0o10644}, allow},
	{"mknodat", []uint64{0, 0, 0o20666}, refuse},
	{"mknodat", []uint64{0, 0, 0o60666}, refuse},
}

// TestJudged asks each with clean registers and with the upper halves, which the
// kernel ignores, full of noise: the answer must be the same.
func TestJudged(t *testing.T) {
	noise := []uint64{0, 1 << 32, 0x80000000 << 32, 0xffffffff << 32, 0x5412 << 32}
	for _, goarch := range goarches {
		m := newMachine(t, goarch)
		for _, c := range judged {
			nr, ok := m.nr[c.call]
			if !ok {
				if goarch != "arm64" || c.call != "mknod" {
					t.Errorf("%s has no %s", goarch, c.call)
				}
				continue
			}
			for _, upper := range noise {
				args := make([]uint64, 6)
				copy(args, c.args)
				for i := range args {
					args[i] |= upper
				}
				if got := m.verdict(t, nr, args...); got != c.want {
					t.Errorf("%s: %s(%#x): %#x, want %#x", goarch, c.call, args, got, c.want)
				}
			}
		}
	}
}
