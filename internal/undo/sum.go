package undo

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/change"
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

// unread is a file that is in one of the sides and was not read yet.
type unread struct {
	rel  string
	node *change.Node
	size int64
}

// maxUnread is how many files are read at a time.
const maxUnread = 4096

func (l *Log) readLater(s *sides, f found) {
	n := &change.Node{Type: f.kind, Mode: f.mode}
	s.note(f.at.rel, n, false)
	if s.unread = append(s.unread, unread{f.at.rel, n, f.size}); len(s.unread) >= maxUnread {
		l.readAll(s)
	}
}

// readAll reads with all processors what was put off.
func (l *Log) readAll(s *sides) {
	files := s.unread
	s.unread = s.unread[:0]
	sums := make([]summed, len(files))
	var group sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 1+len(files)/16)
	root, err := l.root(s.tree)
	for w := range workers {
		from, to := w*len(files)/workers, (w+1)*len(files)/workers
		group.Go(func() { l.sumSome(root, err, files[from:to], sums[from:to]) })
	}
	group.Wait()
	for i, u := range files {
		l.hold(u.node, spot{s.tree, u.rel}, sums[i], u.size)
		if sums[i].plain {
			s.plain[u.rel] = true
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
		switch {
		case err == unix.EINTR:
		case err != nil:
			return summed{err: err}
		case n == 0:
			return summed{size: d.Size, hash: d.Hash(), plain: d.Plain}
		default:
			d.Write(buf[:n])
		}
	}
}
