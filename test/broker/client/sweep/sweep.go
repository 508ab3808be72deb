// Package sweep looks for texts in files and in the memory of processes without
// knowing them: it is given their digests, so that a search does not find itself.
package sweep

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Window is the size of the pieces that are looked for.
const Window = 16

// Mark is what is known of a piece of a text.
type Mark struct {
	Name string
	Roll uint64
	Sum  [32]byte
}

const prime = 1099511628211

// Of makes the marks of a text: of pieces of it that do not overlap.
func Of(name, text string) (out []Mark) {
	for ; len(text) >= Window; text = text[Window:] {
		m := Mark{Name: name, Sum: sha256.Sum256([]byte(text[:Window]))}
		for i := range Window {
			m.Roll = m.Roll*prime + uint64(text[i])
		}
		out = append(out, m)
	}
	return out
}

// Found is a text and the place where it, or a piece of it, was.
type Found struct{ Name, Place string }

// Sweeper searches for marks. What it has read so far is counted, so that a search
// that saw nothing can be told from one that found nothing.
type Sweeper struct {
	Marks []Mark
	Found []Found
	Files int
	Procs int
	Bytes int64
	by    map[uint64][]Mark
	maybe [1 << 16]bool // by the low bits of a roll
	seen  map[Found]bool
}

// Reader searches what it reads.
func (s *Sweeper) Reader(r io.Reader, place string) {
	if s.by == nil {
		s.by = map[uint64][]Mark{}
		for _, m := range s.Marks {
			s.by[m.Roll] = append(s.by[m.Roll], m)
			s.maybe[m.Roll&0xffff] = true
		}
	}
	buf := make([]byte, 1<<20)
	kept := 0
	for {
		n, err := r.Read(buf[kept:])
		s.Bytes += int64(n)
		s.window(buf[:kept+n], place)
		if err != nil || n == 0 {
			break
		}
		tail := min(kept+n, Window-1)
		copy(buf, buf[kept+n-tail:kept+n])
		kept = tail
	}
	clear(buf)
}

func (s *Sweeper) window(b []byte, place string) {
	if len(b) < Window {
		return
	}
	var roll, drop uint64 = 0, 1
	for i := range Window {
		roll = roll*prime + uint64(b[i])
		if i > 0 {
			drop *= prime
		}
	}
	for i := 0; ; i++ {
		if s.maybe[roll&0xffff] {
			s.compare(b[i:i+Window], roll, place)
		}
		if i+Window >= len(b) {
			return
		}
		roll = (roll-uint64(b[i])*drop)*prime + uint64(b[i+Window])
	}
}

func (s *Sweeper) compare(piece []byte, roll uint64, place string) {
	for _, m := range s.by[roll] {
		if sha256.Sum256(piece) == m.Sum {
			s.found(Found{m.Name, place})
		}
	}
}

func (s *Sweeper) found(f Found) {
	if s.seen == nil {
		s.seen = map[Found]bool{}
	}
	if !s.seen[f] {
		s.seen[f] = true
		s.Found = append(s.Found, f)
	}
}

// Tree searches the files below a directory that can be read, their names too.
func (s *Sweeper) Tree(root string, skip ...string) {
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains(skip, path) && d.IsDir() {
			return filepath.SkipDir
		}
		if err != nil {
			return nil // what cannot be read cannot be found by anybody
		}
		s.Reader(strings.NewReader(path), path)
		if link, err := os.Readlink(path); err == nil {
			s.Reader(strings.NewReader(link), path)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			return nil // a device is mounted there
		}
		s.Files++
		s.Reader(f, path)
		return nil
	})
}

// Processes searches what can be seen of every process: its environment, its command
// and its memory.
func (s *Sweeper) Processes() error {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		for _, name := range []string{"environ", "cmdline"} {
			if f, err := os.Open(filepath.Join(dir, name)); err == nil {
				s.Reader(f, filepath.Join(dir, name))
				f.Close()
			}
		}
		if err := s.memory(dir); err == nil {
			s.Procs++
		}
	}
	return nil
}

var errNone = errors.New("no memory was read")

func (s *Sweeper) memory(dir string) error {
	maps, err := os.Open(filepath.Join(dir, "maps"))
	if err != nil {
		return err
	}
	defer maps.Close()
	mem, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		return err
	}
	defer mem.Close()
	before := s.Bytes
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		from, to, ok := strings.Cut(f[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 63)
		b, err2 := strconv.ParseUint(to, 16, 63)
		if !ok || err1 != nil || err2 != nil || !strings.HasPrefix(f[1], "rw") {
			continue // what cannot be written to is a file, or nothing
		}
		s.Reader(io.NewSectionReader(mem, int64(a), int64(b-a)), fmt.Sprintf("%s/mem", dir))
	}
	if s.Bytes == before {
		return errNone
	}
	return nil
}
