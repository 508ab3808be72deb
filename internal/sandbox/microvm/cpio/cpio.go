// Package cpio writes the archive that a kernel unpacks at boot.
package cpio

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// Entry is a file of the guest or, where Mode says so, a directory or a link.
type Entry struct {
	Mode fs.FileMode
	UID  int
	Data []byte
}

// Write writes entries in the "newc" form of cpio. Directories that are not named are made.
func Write(to io.Writer, entries map[string]Entry) error {
	all := maps.Clone(entries)
	for name := range entries {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = Entry{Mode: fs.ModeDir | 0o755}
			}
		}
	}
	w := &writer{to: to}
	for i, name := range slices.Sorted(maps.Keys(all)) { // a directory sorts before what is in it
		w.record(i+1, name, all[name])
	}
	w.record(0, "TRAILER!!!", Entry{})
	return w.err
}

type writer struct {
	to  io.Writer
	at  int
	err error
}

func (w *writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
	w.at += len(b)
}

func (w *writer) record(inode int, name string, e Entry) {
	kind := map[fs.FileMode]int{0: 0o100000, fs.ModeDir: 0o040000, fs.ModeSymlink: 0o120000}[e.Mode.Type()]
	if e.Mode&fs.ModeSticky != 0 {
		kind |= 0o1000
	}
	head := []byte("070701")
	for _, f := range []int{inode, kind | int(e.Mode.Perm()), e.UID, e.UID, 1, 0, len(e.Data), 0, 0, 0, 0, len(name) + 1, 0} {
		head = fmt.Appendf(head, "%08x", f)
	}
	w.write(head)
	for _, part := range [][]byte{append([]byte(name), 0), e.Data} {
		w.write(part)
		w.write(make([]byte, -w.at&3))
	}
}
