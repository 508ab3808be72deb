package undo

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// maxSummed bounds what is read of a file to tell whether it changed: an agent makes
// one of terabytes with a single call. What is larger has no hash.
const (
	maxSummed    = 1 << 30
	maxSummedAll = 4 << 30 // of one look at everything
)

// summed is what a file holds.
type summed struct {
	size  int64
	hash  string
	plain bool // only ASCII
	err   error
}

// reading reads files with all processors, while the walk that finds them goes on.
type reading struct {
	log   *Log
	root  int
	err   error // why there is no root
	files []unread
	parts []part
	group sync.WaitGroup
	free  chan struct{} // one for each processor that may begin
}

// unread is a file that is in one of the sides and was not read yet.
type unread struct {
	rel  string
	now  *present
	size int64
}

// part are files that are read in one go.
type part struct {
	files []unread
	sums  []summed
}

// partSize is how many those are.
const partSize = 512

func (l *Log) newReading(tree int) *reading {
	r := &reading{log: l, free: make(chan struct{}, runtime.GOMAXPROCS(0))}
	r.root, r.err = l.root(tree)
	return r
}

func (l *Log) readLater(s *sides, f found) {
	p := &present{Node: change.Node{Type: f.kind, Mode: f.mode}}
	s.after[f.at.rel] = p
	r := s.reading
	if r.files = append(r.files, unread{f.at.rel, p, f.size}); len(r.files) >= partSize {
		r.begin()
	}
}

// begin reads what was put off, beside the caller.
func (r *reading) begin() {
	p := part{r.files, make([]summed, len(r.files))}
	r.parts, r.files = append(r.parts, p), nil
	r.free <- struct{}{}
	r.group.Go(func() {
		defer func() { <-r.free }()
		r.log.sumSome(r.root, r.err, p.files, p.sums)
	})
}

// readAll notes what all files hold that were put off.
func (l *Log) readAll(s *sides) {
	r := s.reading
	r.begin()
	r.group.Wait()
	for _, p := range r.parts {
		for i, u := range p.files {
			l.hold(&u.now.Node, spot{s.tree, u.rel}, p.sums[i], u.size)
			u.now.plain = p.sums[i].plain
		}
	}
}

// sumSome hashes files, of which many in turn lie in the same directory.
func (l *Log) sumSome(root int, err error, files []unread, sums []summed) {
	in, fd := "", -1
	defer func() { closeIf(fd) }()
	for i, u := range files {
		if err != nil {
			sums[i].err = err
			continue
		}
		dir, name := split(u.rel)
		if fd < 0 || dir != in {
			closeIf(fd)
			in = dir
			if fd, sums[i].err = openAt(root, dir, unix.O_PATH|unix.O_DIRECTORY); sums[i].err != nil {
				continue
			}
		}
		sums[i] = l.sumIn(fd, name, u.size)
	}
}

func closeIf(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// sumIn hashes a file of a directory, as long as not too much was read.
func (l *Log) sumIn(dir int, name string, size int64) summed {
	if l.summed.Add(size) > maxSummedAll {
		return summed{size: size}
	}
	return sumAt(dir, name)
}

// sumAt hashes a file of a directory.
func sumAt(dir int, name string) summed {
	fd, err := openFileAt(dir, name)
	if err != nil {
		return summed{err: err}
	}
	defer unix.Close(fd)
	return sumOf(fd)
}

// sum hashes a file and closes it.
func sum(f *os.File) summed {
	defer f.Close()
	return sumOf(int(f.Fd()))
}

// room is what files are read into, one after another.
var room = sync.Pool{New: func() any { return new([64 << 10]byte) }}

func sumOf(fd int) summed {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Size > maxSummed {
		return summed{size: st.Size}
	}
	buf := room.Get().(*[64 << 10]byte)
	defer room.Put(buf)
	for d := change.NewDigest(); ; {
		n, err := unix.Read(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return summed{err: err}
		}
		d.Write(buf[:n])
		if n == 0 || n < len(buf) && d.Size == st.Size { // as long as it said
			return summed{size: d.Size, hash: d.Hash(), plain: d.Plain}
		}
	}
}
