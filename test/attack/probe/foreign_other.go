//go:build !amd64

package main

import "golang.org/x/sys/unix"

// foreign has nothing to try: the 32-bit convention of this architecture cannot
// be used by a 64-bit process.
func foreign([]string) int {
	return report([]attempt{{name: "foreign", err: unix.ENOSYS}}, unix.ENOSYS)
}
