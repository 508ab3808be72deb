package sys

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SetName is for a process that was executed by a descriptor or as /proc/self/exe: ps
// should say who it is.
func SetName(name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	err = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(p)), 0, 0, 0)
	runtime.KeepAlive(p)
	return err
}
