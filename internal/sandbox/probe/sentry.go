package probe

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// onSentry holds on gVisor's kernel, which says what it is. Nobody inside can make the
// host's say so. It only chooses between two ways of asking for the same wall.
func onSentry() bool {
	var u unix.Utsname
	return unix.Uname(&u) == nil && bytes.Contains(u.Release[:], []byte("gvisor"))
}
