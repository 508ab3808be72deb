//go:build ringfence_mutate

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

func closeInherited() error {
	if os.Getenv("RINGFENCE_MUTATE") == "fds" {
		return nil
	}
	return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}
