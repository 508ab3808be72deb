// Command search looks for secrets wherever a process of this user can look: in its
// environment, in those, the command lines and the memory of all processes, and in
// files. What it looks for is told backwards, so that it does not find its orders.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// places are where files are looked at, beside HOME and the working directory: all
// that somebody may have written to in the course of a session.
var places = []string{"/tmp", "/var/tmp", "/dev/shm", "/run", "/etc", "/srv"}

func main() {
	s := &search{}
	for _, arg := range os.Args[1:] {
		b := []byte(arg)
		slices.Reverse(b)
		s.needles = append(s.needles, forms(b)...)
	}
	for _, v := range os.Environ() {
		if s.in([]byte(v)) {
			name, _, _ := strings.Cut(v, "=")
			s.found("the environment: " + name)
		}
	}
	s.processes()
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	for _, place := range append([]string{os.Getenv("HOME"), dir}, places...) {
		s.tree(place)
	}
	fmt.Printf("searched %d processes, %d bytes of their memory, %d files\n", s.procs, s.memory, s.files)
}

// forms are those in which a secret may stand somewhere: as it is, in hexadecimal, in
// Base64 with up to two bytes before it.
func forms(secret []byte) [][]byte {
	out := [][]byte{secret, []byte(hex.EncodeToString(secret))}
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		out = append(out, []byte(text[(before*8+5)/6:len(text)-1])) // what the secret alone determines
	}
	return out
}

type search struct {
	needles      [][]byte
	procs, files int
	memory       int64
	buf          []byte // one for all that is read
}

func (s *search) in(b []byte) bool {
	return slices.ContainsFunc(s.needles, func(n []byte) bool { return bytes.Contains(b, n) })
}

func (s *search) found(where string) { fmt.Println("found in", where) }

// processes looks at all but this one.
func (s *search) processes() {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		s.procs++
		for _, name := range []string{"environ", "cmdline"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && s.in(b) {
				s.found(filepath.Join(dir, name))
			}
		}
		s.maps(dir)
	}
}

// maps looks at what a process can write to.
func (s *search) maps(dir string) {
	maps, err := os.ReadFile(filepath.Join(dir, "maps"))
	if err != nil {
		return
	}
	mem, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		return
	}
	defer mem.Close()
	pages, err := os.Open(filepath.Join(dir, "pagemap"))
	if err != nil {
		return
	}
	defer pages.Close()
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); n != 3 || !strings.HasPrefix(mode, "rw") {
			continue
		}
		hit := false
		used(pages, from, to, func(from, to int64) {
			n, found := s.stream(io.NewSectionReader(mem, from, to-from))
			s.memory += n
			hit = hit || found
		})
		if hit {
			s.found(filepath.Join(dir, "mem") + " at " + strings.Fields(line)[0])
		}
	}
}

// used calls do for the parts of a range of addresses that hold anything: some
// programs reserve far more than they use.
func used(pages io.ReaderAt, from, to int64, do func(from, to int64)) {
	const entry, there = 8, 3 << 62 // in memory, or swapped out
	size := int64(os.Getpagesize())
	start := int64(-1)
	buf := make([]byte, 4096*entry)
	for at := from; at < to; {
		n, _ := pages.ReadAt(buf[:min(int64(len(buf)), (to-at)/size*entry)], at/size*entry)
		for i := 0; i+entry <= n; i += entry {
			switch full := binary.NativeEndian.Uint64(buf[i:])&there != 0; {
			case full && start < 0:
				start = at
			case !full && start >= 0:
				do(start, at)
				start = -1
			}
			at += size
		}
		if n < entry {
			break
		}
	}
	if start >= 0 {
		do(start, to)
	}
}

// tree looks at all files below a directory, as long as they are on a disk.
func (s *search) tree(root string) {
	filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // what cannot be read is not known to the agent either
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		s.files++
		if _, hit := s.stream(f); hit {
			s.found(path)
		}
		return nil
	})
}

// stream looks at all that comes.
func (s *search) stream(r io.Reader) (n int64, hit bool) {
	const overlap = 1 << 10
	if s.buf == nil {
		s.buf = make([]byte, 1<<20)
	}
	buf := s.buf[:0]
	for {
		m, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+m]
		n += int64(m)
		if s.in(buf) {
			return n, true
		}
		if err != nil || m == 0 {
			return n, false
		}
		if len(buf) > overlap {
			buf = buf[:copy(buf, buf[len(buf)-overlap:])]
		}
	}
}
