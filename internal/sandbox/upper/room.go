package upper

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// count adds what a file holds. One that is as it was counts as well: else each generation
// could hold as much as the bound more than the one before.
func (c *receiver) count(n int64) {
	if c.held += n; c.held > c.most.Bytes {
		c.err = &Full{What: fmt.Sprintf("%d MB", c.most.Bytes>>20)}
	}
}

// looked is after how many entries and pieces the disk is looked at again: with pieces of
// MaxPiece, 16 MiB later. A piece of one byte takes a block of the disk, and an entry one of
// its inodes, so that no sum of what was sent would tell.
const looked = 256

// room refuses what would leave the disk here without its reserve.
func (c *receiver) room() {
	if c.looks++; c.looks%looked != 1 {
		return
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(c.into, &st); err != nil {
		c.err = err
		return
	}
	if !roomy(st, c.most.Spare) {
		c.err = &Full{What: "this disk has room for: a part of it stays free, and that", Here: true}
	}
}

// roomy says whether more may be written. Of a small disk a twentieth stays free, and of the
// inodes, where a file system counts them.
func roomy(st unix.Statfs_t, spare int64) bool {
	if spare <= 0 {
		return true
	}
	least := min(uint64(spare), st.Blocks*uint64(st.Bsize)/20)
	return st.Bavail*uint64(st.Bsize) > least && (st.Files == 0 || st.Ffree > st.Files/20)
}
