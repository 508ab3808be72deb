package undo

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	gitobject "ringfence.dev/ringfence/internal/git/object"
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
		if st, err := f.Stat(); err == nil && gitobject.Indexed(f, st.Size(), id) {
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
