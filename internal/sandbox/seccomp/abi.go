package seccomp

// Numbers of Linux's interface, spelt out here so that the package builds on
// every system; a test on Linux compares them with x/sys.

// verdict is what the filter returns to the kernel.
type verdict uint32

const (
	kill  verdict = 0x80000000 // SECCOMP_RET_KILL_PROCESS
	allow verdict = 0x7fff0000 // SECCOMP_RET_ALLOW
	errno verdict = 0x00050000 // SECCOMP_RET_ERRNO; without a number it means success

	notify verdict = 0x7fc00000 // SECCOMP_RET_USER_NOTIF

	refuse     = errno | 1  // EPERM
	absent     = errno | 38 // ENOSYS
	busy       = errno | 16 // EBUSY
	noProtocol = errno | 93 // EPROTONOSUPPORT
	noFamily   = errno | 97 // EAFNOSUPPORT

	told verdict = 0x8000 // with an errno: whoever listens hears of it, see Told
)

// all is the mask of a match on the whole (lower) word.
const all = 0xffffffff

const (
	afUnix    = 1
	afInet    = 2
	afInet6   = 10
	afNetlink = 16

	sockTypeMask = 0xf // the rest are SOCK_CLOEXEC and SOCK_NONBLOCK
	sockStream   = 1
	sockDgram    = 2
	sockRaw      = 3

	setModeFilter = 1 // SECCOMP_SET_MODE_FILTER
	newListener   = 8 // SECCOMP_FILTER_FLAG_NEW_LISTENER

	protoDefault = 0
	protoTCP     = 6
	protoUDP     = 17
	protoICMP    = 1
	protoICMP6   = 58
	netlinkRoute = 0
)

const (
	cloneNewTime   = 0x00000080
	cloneFS        = 0x00000200
	cloneFiles     = 0x00000400
	cloneNewNS     = 0x00020000
	cloneSysVSem   = 0x00040000
	cloneNewCgroup = 0x02000000
	cloneNewUTS    = 0x04000000
	cloneNewIPC    = 0x08000000
	cloneNewUser   = 0x10000000
	cloneNewPID    = 0x20000000
	cloneNewNet    = 0x40000000

	cloneNewAny = cloneNewTime | cloneNewNS | cloneNewCgroup | cloneNewUTS |
		cloneNewIPC | cloneNewUser | cloneNewPID | cloneNewNet
)

const (
	tiocSTI   = 0x5412
	tiocLinux = 0x541c
	tiocCons  = 0x541d
	tiocSetD  = 0x5423
)

const (
	modeFormat = 0170000 // S_IFMT
	modeChar   = 0020000
	modeBlock  = 0060000
)

// Flags of open by which a file may change, and the question "may I write?".
const (
	openChanges = 0x1 | 0x2 | 0x40 | 0x200 | 0x400000 // O_WRONLY O_RDWR O_CREAT O_TRUNC __O_TMPFILE
	accessWrite = 0x2                                 // W_OK
	modeSetUID  = 04000
	modeSetGID  = 02000
)

const fSetLease = 1024 // F_SETLEASE

const (
	perLinux   = 0
	perLinux32 = 8
	perUname26 = 0x20000
	perQuery   = 0xffffffff
)
