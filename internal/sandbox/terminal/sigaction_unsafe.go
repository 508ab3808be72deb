package terminal

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct of that name. It differs between machines,
// but on those with the handler in front (all that Go runs Linux on, save MIPS)
// it is not larger than this, and the two values below mean what they say.
type sigaction [4]uint64

var (
	defaultAction = sigaction{0}
	ignoreAction  = sigaction{1}
)

// setAction changes what a signal does, behind the back of os/signal, and
// returns what it did. It is for SIGTSTP: signal.Reset leaves the runtime's
// handler in place, which swallows the signal instead of stopping the process.
// It can fail only for a signal that does not exist.
func setAction(sig syscall.Signal, action sigaction) (old sigaction) {
	const setSize = 8
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(&action)), uintptr(unsafe.Pointer(&old)), setSize, 0, 0)
	return old
}
