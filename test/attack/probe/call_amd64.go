package main

import "golang.org/x/sys/unix"

// archCalls are calls that other architectures never had.
func archCalls() map[string][]uintptr {
	return map[string][]uintptr{
		"modify_ldt": {unix.SYS_MODIFY_LDT, 0, bad, 0},
		"iopl":       {unix.SYS_IOPL, 99},
		"ioperm":     {unix.SYS_IOPERM, 1 << 20, 1, 1},
	}
}
