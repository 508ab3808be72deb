//go:build !ringfence_mutate

package cli

import "golang.org/x/sys/unix"

// closeInherited keeps descriptors that a careless launcher left open from going
// any further: a directory among them would be a door to the host.
func closeInherited() error { return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }
