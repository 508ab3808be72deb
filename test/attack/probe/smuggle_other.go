//go:build !amd64

package main

import "golang.org/x/sys/unix"

// smuggle is written for the registers of one architecture.
func smuggle([]string) int {
	return report([]attempt{{name: "keyctl by way of getpgid", err: unix.ENOSYS}}, unix.ENOSYS)
}
