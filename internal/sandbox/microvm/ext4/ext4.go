// Package ext4 makes an empty file system on the disk of a guest. It has no journal: nobody
// reads the disk after the guest has ended.
package ext4

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// The one geometry that is made.
const (
	block          = 4096
	perGroup       = 8 * block // blocks
	inodesPerGroup = 8192      // one for 16 KiB
	inodeSize      = 256
	tableBlocks    = inodesPerGroup * inodeSize / block
	firstInode     = 11 // those below it are the file system's own
	rootInode      = 2

	// Least and Most are the sizes that can be had: a group, and as many as one block of
	// descriptors holds.
	Least = perGroup * block
	Most  = (block / 32) * perGroup * block
)

// ErrSize says that there is no such file system.
var ErrSize = errors.New("a disk has 128 MiB to 16 GiB, in whole steps of 128 MiB")

// Format makes an empty file system. What it does not write must be zero.
func Format(to io.WriterAt, size int64) error {
	if size < Least || size > Most || size%Least != 0 {
		return ErrSize
	}
	f := layout{groups: int(size / Least)}
	if _, err := rand.Read(f.uuid[:]); err != nil {
		return err
	}
	f.now = uint32(time.Now().Unix())
	for g := range f.groups {
		if err := f.group(to, g); err != nil {
			return err
		}
	}
	return f.root(to)
}

type layout struct {
	groups int
	uuid   [16]byte
	now    uint32
}

// copied says whether a group begins with a copy of the superblock: 0, 1 and the powers of
// 3, 5 and 7.
func copied(g int) bool {
	for _, base := range []int{3, 5, 7} {
		n := 1
		for n < g {
			n *= base
		}
		if n == g {
			return true
		}
	}
	return g == 0
}

// head is how many blocks of a group come before its bitmaps.
func head(g int) int {
	if copied(g) {
		return 2
	}
	return 0
}

// used is how many blocks of a group are taken: bitmaps, inodes, and the root directory.
func used(g int) int {
	n := head(g) + 2 + tableBlocks
	if g == 0 {
		n++
	}
	return n
}

// rootBlock is that of the root directory: the first one that is free in the first group.
func rootBlock() uint32 { return uint32(head(0) + 2 + tableBlocks) }

func (f *layout) group(to io.WriterAt, g int) error {
	at := int64(g) * perGroup * block
	if copied(g) {
		super := f.super(g)
		offset := at
		if g == 0 {
			offset += 1024
		}
		if _, err := to.WriteAt(super, offset); err != nil {
			return err
		}
		if _, err := to.WriteAt(f.descriptors(), at+block); err != nil {
			return err
		}
	}
	blocks, inodes := make([]byte, block), make([]byte, block)
	set(blocks, 0, used(g))
	set(inodes, inodesPerGroup, 8*block) // past the end
	if g == 0 {
		set(inodes, 0, firstInode-1)
	}
	if _, err := to.WriteAt(blocks, at+int64(head(g))*block); err != nil {
		return err
	}
	_, err := to.WriteAt(inodes, at+int64(head(g)+1)*block)
	return err
}

func set(bitmap []byte, from, to int) {
	for i := from; i < to; i++ {
		bitmap[i/8] |= 1 << (i % 8)
	}
}

func freeInodes(g int) int {
	if g == 0 {
		return inodesPerGroup - (firstInode - 1)
	}
	return inodesPerGroup
}

// descriptors is where the parts of each group are.
func (f *layout) descriptors() []byte {
	out := make([]byte, block)
	for g := range f.groups {
		d := out[g*32:]
		base := uint32(g*perGroup + head(g))
		put32(d, 0, base)
		put32(d, 4, base+1)
		put32(d, 8, base+2)
		put16(d, 12, uint16(perGroup-used(g)))
		put16(d, 14, uint16(freeInodes(g)))
		if g == 0 {
			put16(d, 16, 1) // directories
		}
	}
	return out
}

// Features. Those of the last kind keep a kernel that does not know them from writing.
const (
	compatXattr    = 0x8
	incompatTypes  = 0x2
	incompatExtent = 0x40
	roSparse       = 0x1
	roLargeFile    = 0x2
	roDirNlink     = 0x20
	roExtraIsize   = 0x40
)

func (f *layout) super(g int) []byte {
	s := make([]byte, 1024)
	free, freeI := 0, 0
	for i := range f.groups {
		free += perGroup - used(i)
		freeI += freeInodes(i)
	}
	for at, v := range map[int]uint32{0: uint32(f.groups * inodesPerGroup), 4: uint32(f.groups * perGroup), 12: uint32(free), 16: uint32(freeI),
		24: 2, 28: 2, 32: perGroup, 36: perGroup, 40: inodesPerGroup, 48: f.now, 64: f.now, 76: 1, 84: firstInode,
		92: compatXattr, 96: incompatTypes | incompatExtent, 100: roSparse | roLargeFile | roDirNlink | roExtraIsize, 0x108: f.now} {
		put32(s, at, v)
	}
	for at, v := range map[int]uint16{54: 0xffff, 56: 0xef53, 58: 1, 60: 2, 88: inodeSize, 90: uint16(g), 0x15c: 32, 0x15e: 32} {
		put16(s, at, v)
	}
	copy(s[104:], f.uuid[:])
	return s
}

// root makes the root directory, which everybody may enter and root alone may change.
func (f *layout) root(to io.WriterAt) error {
	i := make([]byte, inodeSize)
	put16(i, 0, 0o040755)
	put32(i, 4, block)
	for _, at := range []int{8, 12, 16, 0x90} {
		put32(i, at, f.now)
	}
	put16(i, 26, 2)         // links
	put32(i, 28, block/512) // sectors
	put32(i, 40, rootBlock())
	put16(i, 0x80, 32)
	if _, err := to.WriteAt(i, int64(head(0)+2)*block+(rootInode-1)*inodeSize); err != nil {
		return err
	}
	d := make([]byte, block)
	put32(d, 0, rootInode)
	put16(d, 4, 12)
	d[6], d[7], d[8] = 1, 2, '.'
	put32(d, 12, rootInode)
	put16(d, 16, block-12)
	d[18], d[19], d[20], d[21] = 2, 2, '.', '.'
	_, err := to.WriteAt(d, int64(rootBlock())*block)
	return err
}

func put16(b []byte, at int, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
func put32(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
