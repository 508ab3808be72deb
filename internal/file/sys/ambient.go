package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// KeepCalls let a child that is not root in its user namespace keep these capabilities,
// and no other, when its program begins.
func KeepCalls(caps []uintptr) []Call {
	var data [2]unix.CapUserData
	for _, c := range caps {
		d, bit := &data[c/32], uint32(1)<<(c%32)
		d.Effective, d.Permitted, d.Inheritable = d.Effective|bit, d.Permitted|bit, d.Inheritable|bit
	}
	head := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	calls := []Call{{Number: unix.SYS_CAPSET, Args: [5]uintptr{uintptr(unsafe.Pointer(head)), uintptr(unsafe.Pointer(&data))}, Keep: []any{head, &data}}}
	for _, c := range caps {
		calls = append(calls, Call{Number: unix.SYS_PRCTL, Args: [5]uintptr{unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, c}})
	}
	return calls
}
