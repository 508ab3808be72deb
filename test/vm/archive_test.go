//go:build amd64

package vm

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// entry is a file of the guest or, where mode says so, a directory or a link.
type entry struct {
	mode fs.FileMode
	uid  int
	data []byte
}

// archive writes entries in the "newc" form of cpio, which is what the kernel
// unpacks at boot. Directories that are not named are made.
func archive(entries map[string]entry) []byte {
	all := maps.Clone(entries)
	for name := range entries {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := all[dir]; !ok {
				all[dir] = entry{mode: fs.ModeDir | 0o755}
			}
		}
	}
	var b bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(all)) { // a directory sorts before what is in it
		record(&b, i+1, name, all[name])
	}
	record(&b, 0, "TRAILER!!!", entry{})
	return b.Bytes()
}

func record(b *bytes.Buffer, inode int, name string, e entry) {
	kind := map[fs.FileMode]int{0: 0o100000, fs.ModeDir: 0o040000, fs.ModeSymlink: 0o120000}[e.mode.Type()]
	if e.mode&fs.ModeSticky != 0 {
		kind |= 0o1000
	}
	fields := []int{inode, kind | int(e.mode.Perm()), e.uid, e.uid, 1, 0, len(e.data), 0, 0, 0, 0, len(name) + 1, 0}
	b.WriteString("070701")
	for _, f := range fields {
		fmt.Fprintf(b, "%08x", f)
	}
	for _, part := range [][]byte{append([]byte(name), 0), e.data} {
		b.Write(part)
		b.Write(make([]byte, -b.Len()&3))
	}
}

func TestArchive(t *testing.T) {
	got := archive(map[string]entry{"a/b": {mode: 0o755, uid: 7, data: []byte("hello")}})
	zero := strings.Repeat("0", 8)
	field := func(n int) string { return fmt.Sprintf("%08x", n) }
	want := "070701" + field(1) + field(0o040755) + zero + zero + field(1) + zero + zero + strings.Repeat(zero, 4) + field(2) + zero + "a\x00" +
		"070701" + field(2) + field(0o100755) + field(7) + field(7) + field(1) + zero + field(5) + strings.Repeat(zero, 4) + field(4) + zero + "a/b\x00\x00\x00" + "hello\x00\x00\x00" +
		"070701" + zero + field(0o100000) + zero + zero + field(1) + zero + zero + strings.Repeat(zero, 4) + field(11) + zero + "TRAILER!!!\x00\x00\x00\x00"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
