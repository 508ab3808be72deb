package undo

import "golang.org/x/sys/unix"

// As a kill loses nothing that was written, the tests need not wait for the disk, nor for
// what others write to it.
var (
	toDisk    = unix.Fsync
	allToDisk = unix.Syncfs
)
