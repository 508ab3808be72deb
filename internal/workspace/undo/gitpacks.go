package undo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// gitPacks answers whether the objects of a repository have an object: loose, in a pack, in
// a store that it borrows from, or among what comes back.
type gitPacks struct {
	dir     int // descriptor of the objects; -1: none
	indexes []*os.File
	comes   map[string]bool // loose ones that come back
	borrows []*gitPacks
	partial bool // what is missing is fetched when it is needed
}

const maxBorrowed = 5 // levels, as git has it

func openPacks(dir, depth int) *gitPacks {
	p := &gitPacks{dir: dir, comes: map[string]bool{}}
	if dir < 0 {
		return p
	}
	if fd, err := openAt(dir, "pack", unix.O_RDONLY|unix.O_DIRECTORY); err == nil {
		f := os.NewFile(uintptr(fd), "pack")
		names, _ := list(f)
		for _, name := range names {
			p.partial = p.partial || strings.HasSuffix(name, ".promisor")
			if !strings.HasSuffix(name, ".idx") {
				continue
			}
			if x, err := openFileAt(fd, name); err == nil {
				p.indexes = append(p.indexes, os.NewFile(uintptr(x), name))
			}
		}
		f.Close()
	}
	if depth < maxBorrowed {
		p.borrow(depth)
	}
	return p
}

// borrow opens the stores that are named in info/alternates.
func (p *gitPacks) borrow(depth int) {
	fd, err := openFileAt(p.dir, "info/alternates")
	if err != nil {
		return
	}
	b, err := readAll(os.NewFile(uintptr(fd), "alternates"), maxRefText)
	if err != nil {
		return
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if !filepath.IsAbs(line) {
			here, err := os.Readlink(sys.ByDescriptor(p.dir))
			if err != nil {
				continue
			}
			line = filepath.Join(here, line)
		}
		if dir, err := unix.Open(line, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			p.borrows = append(p.borrows, openPacks(dir, depth+1))
		}
	}
}

func (p *gitPacks) close() {
	for _, f := range p.indexes {
		f.Close()
	}
	for _, b := range p.borrows {
		b.close()
	}
	if p.dir >= 0 {
		unix.Close(p.dir)
	}
}

func (p *gitPacks) has(id string) bool {
	if p.partial || p.comes[id] {
		return true
	}
	if p.dir >= 0 {
		if _, err := look(p.dir, id[:2]+"/"+id[2:]); err == nil {
			return true
		}
	}
	for _, f := range p.indexes {
		if packHas(f, id) {
			return true
		}
	}
	for _, b := range p.borrows {
		if b.has(id) {
			return true
		}
	}
	return false
}

// packHas looks an object up in the index of a pack, of version 2 or of the one without a
// number. What cannot be read has nothing.
func packHas(f io.ReaderAt, id string) bool {
	want, err := hex.DecodeString(id)
	if err != nil || len(want) == 0 {
		return false
	}
	var head [8]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return false
	}
	fan, skip := int64(0), int64(4)
	if bytes.Equal(head[:4], []byte("\xfftOc")) {
		if binary.BigEndian.Uint32(head[4:]) != 2 {
			return false
		}
		fan, skip = 8, 0
	}
	number := func(i int) int64 {
		var b [4]byte
		if i < 0 {
			return 0
		}
		if _, err := f.ReadAt(b[:], fan+4*int64(i)); err != nil {
			return 0
		}
		return int64(binary.BigEndian.Uint32(b[:]))
	}
	width := int64(len(want)) + skip
	have := make([]byte, len(want))
	for lo, hi := number(int(want[0])-1), number(int(want[0])); lo < hi; {
		mid := (lo + hi) / 2
		if _, err := f.ReadAt(have, fan+1024+mid*width+skip); err != nil {
			return false
		}
		switch bytes.Compare(have, want) {
		case 0:
			return true
		case -1:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return false
}
