package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func int80(number, arg uintptr) uintptr

const (
	x32Bit       = 0x40000000
	i386Getpid   = 20
	i386Keyctl   = 288
	maxErrno     = 4095
	triedForeign = "inner"
)

// foreign makes calls by another convention, which a filter that looks at numbers
// alone mistakes for other calls: the 32-bit entry, or the x32 bit. It does so in
// a child, because to be killed for it is a good answer.
func foreign(args []string) int {
	if len(args) == 0 {
		usage("foreign i386|x32")
	}
	if len(args) == 1 {
		cmd := exec.Command("/proc/self/exe", "foreign", args[0], triedForeign)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
			return report([]attempt{{name: args[0], err: unix.EPERM}}, unix.EPERM)
		}
		return cmd.ProcessState.ExitCode()
	}
	var tried []attempt
	switch args[0] {
	case "i386":
		for name, nr := range map[string]uintptr{"i386 getpid": i386Getpid, "i386 keyctl": i386Keyctl} {
			tried = append(tried, attempt{name: name, err: answer(int80(nr, 0))})
		}
	case "x32":
		for name, nr := range map[string]uintptr{"x32 getpid": unix.SYS_GETPID, "x32 keyctl": unix.SYS_KEYCTL} {
			r, _, errno := unix.RawSyscall(x32Bit|nr, 0, 0, 0)
			if errno != 0 {
				r = -uintptr(errno)
			}
			tried = append(tried, attempt{name: name, err: answer(r)})
		}
	}
	return report(tried, unix.EPERM, unix.ENOSYS)
}

// answer says whether a call was reached.
func answer(r uintptr) error {
	errno := syscall.Errno(-int32(r))
	if errno > 0 && errno <= maxErrno && (errno == unix.EPERM || errno == unix.ENOSYS) {
		return errno
	}
	return nil
}
