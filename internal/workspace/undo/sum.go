package undo

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"

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
	root    int
	err     error // why there is no root
	files   []unread
	batches []batch
	group   sync.WaitGroup
	free    chan struct{} // one for each processor that may begin
	summed  atomic.Int64  // bytes that were read
}

// unread is a file that is of the tree of now and was not read yet.
type unread struct {
	rel  string
	now  *present
	size int64
}

// batch are files that are read in one go.
type batch struct {
	files []unread
	sums  []summed
}

// batchSize is how many those are.
const batchSize = 512

func (l *Log) newReading(tree int) *reading {
	r := &reading{free: make(chan struct{}, runtime.GOMAXPROCS(0))}
	r.root, r.err = l.root(tree)
	return r
}

func (c *comparison) readLater(f found) {
	p := &present{Node: change.Node{Type: f.kind, Mode: f.mode}}
	c.put(f.at.rel, p)
	r := c.reading
	if r.files = append(r.files, unread{f.at.rel, p, f.size}); len(r.files) >= batchSize {
		r.begin()
	}
}

// begin reads what was put off, beside the caller.
func (r *reading) begin() {
	b := batch{r.files, make([]summed, len(r.files))}
	r.batches, r.files = append(r.batches, b), nil
	r.free <- struct{}{}
	r.group.Go(func() {
		defer func() { <-r.free }()
		r.sumSome(b.files, b.sums)
	})
}

// readAll notes what all files hold that were put off.
func (c *comparison) readAll() {
	r := c.reading
	r.begin()
	r.group.Wait()
	for _, b := range r.batches {
		for i, u := range b.files {
			c.hold(&u.now.Node, place{c.tree, u.rel}, b.sums[i], u.size)
			u.now.plain = b.sums[i].plain
		}
	}
}

// sumSome hashes files, of which many in turn lie in the same directory.
func (r *reading) sumSome(files []unread, sums []summed) {
	in, fd := "", -1
	defer func() { closeIf(fd) }()
	for i, u := range files {
		if r.err != nil {
			sums[i].err = r.err
			continue
		}
		dir, name := split(u.rel)
		if fd < 0 || dir != in {
			closeIf(fd)
			in = dir
			if fd, sums[i].err = openAt(r.root, dir, unix.O_PATH|unix.O_DIRECTORY); sums[i].err != nil {
				continue
			}
		}
		sums[i] = r.sumIn(fd, name, u.size)
	}
}

func closeIf(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// sumIn hashes a file of a directory, as long as not too much was read.
func (r *reading) sumIn(dir int, name string, size int64) summed {
	if r.summed.Add(size) > maxSummedAll {
		return summed{size: size}
	}
	return sumAt(dir, name)
}

// sumAt hashes a file of a directory.
func sumAt(dir int, name string) summed {
	fd, size, err := openSized(dir, name)
	if err != nil {
		return summed{err: err}
	}
	defer unix.Close(fd)
	return sumOf(fd, size)
}

// sum hashes a file and closes it.
func sum(f *os.File) summed {
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return summed{err: err}
	}
	return sumOf(int(f.Fd()), st.Size())
}

func sumOf(fd int, size int64) summed {
	if size > maxSummed {
		return summed{size: size}
	}
	d, err := change.Read(fd, size)
	if err != nil {
		return summed{err: err}
	}
	return summed{size: d.Size, hash: d.Hash(), plain: d.Plain}
}
