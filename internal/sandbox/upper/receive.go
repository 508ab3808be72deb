package upper

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Receive makes what a stream says in the empty directory into. before is a descriptor of
// the generation before, -1 for none. unchanged says that everything is as it was there:
// nothing was made. After an error what was made is of no use.
func Receive(r io.Reader, into, before int, most Bounds) (unchanged bool, err error) {
	c := &receiver{r: bufio.NewReaderSize(r, MaxPiece), into: into, before: before, most: most}
	c.bytes(len(preface))
	if c.err == nil && string(c.got) != preface {
		c.err = wrong("it begins with %q", c.got)
	}
	kind := c.byte()
	if c.err == nil && kind == recordUnchanged && before >= 0 {
		unchanged = true
	} else {
		c.tree(kind)
	}
	if c.err == nil {
		if _, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
			return false, after(err)
		}
	}
	return unchanged, c.err
}

func after(err error) error {
	if err == nil {
		return wrong("more than its end")
	}
	return err
}

// receiver reads one stream. After the first error nothing is read or made any more.
type receiver struct {
	r      *bufio.Reader
	got    []byte // the last field
	err    error
	into   int
	before int
	most   Bounds

	open    []*directory // from the root down
	entries int
	held    int64 // bytes of all files, also of those that are as they were
	looks   int   // how often something was made since the disk was looked at
	buf     [MaxPiece]byte
}

// directory is one that is being filled.
type directory struct {
	path  string
	last  string // the name before
	fd    int    // -1: it is not open just now
	mode  uint32
	mtime unix.Timespec
}

// tree reads all records.
func (c *receiver) tree(kind byte) {
	c.open = []*directory{{path: ".", fd: -1}}
	defer func() {
		for _, d := range c.open {
			d.close()
		}
	}()
	for ; c.err == nil && kind != recordEnd; kind = c.byte() {
		if kind == recordUp {
			c.leave()
			continue
		}
		c.entry(kind)
	}
	if c.err == nil && len(c.open) != 1 {
		c.err = wrong("it ends within a directory")
	}
	if n := c.number(4); c.err == nil && n != uint64(c.entries) {
		c.err = wrong("%d entries, and it says %d", c.entries, n)
	}
}

// entry makes one entry.
func (c *receiver) entry(kind byte) {
	d := c.open[len(c.open)-1]
	name := c.name(d)
	if c.err != nil {
		return
	}
	if c.entries++; c.entries > c.most.Entries {
		c.err = &Full{What: fmt.Sprintf("%d files", c.most.Entries)}
		return
	}
	if c.room(); c.err != nil {
		return
	}
	path := name
	if d.path != "." {
		path = d.path + "/" + name
	}
	if len(path) > MaxPath && kind != recordSpecial && kind != recordWhite {
		c.err = wrong("a path of %d bytes", len(path))
		return
	}
	at, err := c.at(d)
	if err == nil {
		err = c.make(kind, at, name, path)
	}
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("%q: %w", path, err)
	}
}

func (c *receiver) make(kind byte, at int, name, path string) error {
	switch kind {
	case recordDir:
		return c.directory(at, name, path)
	case recordFile:
		return c.file(at, name)
	case recordSame:
		return c.same(at, name, path)
	case recordLink:
		return c.link(at, name)
	case recordWhite:
		return unix.Mknodat(at, name, unix.S_IFCHR, 0)
	case recordSpecial:
		return unix.Mkfifoat(at, name, 0o600)
	}
	return wrong("a record of kind %q", kind)
}

// at is the descriptor of a directory. Only the last one is held.
func (c *receiver) at(d *directory) (int, error) {
	if d.fd >= 0 {
		return d.fd, nil
	}
	fd, err := sys.OpenOn(c.into, d.path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		d.fd = fd
	}
	return fd, err
}

func (d *directory) close() {
	if d.fd >= 0 {
		unix.Close(d.fd)
		d.fd = -1
	}
}

// name reads the name of an entry. They come in order, so none comes twice.
func (c *receiver) name(d *directory) string {
	n := int(c.byte())
	name := string(c.bytes(n))
	switch {
	case c.err != nil:
	case n == 0, name == ".", name == "..", strings.ContainsAny(name, "/\x00"):
		c.err = wrong("the name %q", name)
	case name <= d.last:
		c.err = wrong("%q after %q", name, d.last)
	}
	d.last = name
	return name
}

func (c *receiver) directory(at int, name, path string) error {
	mode, marks, mtime := c.head(0o3777, 0o500, opaque|origin)
	if c.err != nil {
		return nil
	}
	if err := unix.Mkdirat(at, name, 0o700); err != nil {
		return err
	}
	d := &directory{path: path, fd: -1, mode: mode, mtime: mtime}
	c.open[len(c.open)-1].close()
	c.open = append(c.open, d)
	fd, err := c.at(d)
	if err == nil {
		err = setMarks(fd, marks)
	}
	return err
}

// leave finishes a directory: its mode may forbid to write in it.
func (c *receiver) leave() {
	if len(c.open) == 1 {
		c.err = wrong("it goes up from its root")
		return
	}
	d := c.open[len(c.open)-1]
	fd, err := c.at(d)
	if err == nil {
		err = errors.Join(sys.Chmod(fd, d.mode), setTime(fd, d.mtime))
	}
	d.close()
	c.open = c.open[:len(c.open)-1]
	if err != nil {
		c.err = fmt.Errorf("%q: %w", d.path, err)
	}
}

func (c *receiver) file(at int, name string) error {
	mode, marks, mtime := c.head(0o777, 0o400, origin)
	size := c.number(8)
	if c.err == nil && size > MaxFile {
		c.err = wrong("a file of %d bytes", size)
	}
	if c.err != nil {
		return nil
	}
	fd, err := unix.Openat(at, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return err
	}
	if err := c.pieces(fd, size); err != nil || c.err != nil {
		return err
	}
	return errors.Join(setMarks(fd, marks), setTime(fd, mtime), sys.Chmod(fd, mode))
}

// pieces writes what a file holds. Each lies behind the one before.
func (c *receiver) pieces(fd int, size uint64) error {
	for end := uint64(0); ; {
		n := c.number(4)
		if c.err != nil || n == 0 {
			return nil
		}
		off := c.number(8)
		switch {
		case c.err != nil:
		case n > MaxPiece, off < end, off > size, n > size-off:
			c.err = wrong("a piece of %d bytes at %d", n, off)
		default:
			c.count(int64(n))
		}
		b := c.buf[:min(n, MaxPiece)]
		if c.err == nil {
			c.fill(b)
		}
		if c.err != nil {
			return nil
		}
		if c.room(); c.err != nil {
			return nil
		}
		for at := int64(off); len(b) > 0; {
			k, err := unix.Pwrite(fd, b, at)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return err
			}
			b, at = b[k:], at+int64(k)
		}
		end = off + n
	}
}

// same takes a file from the generation before.
func (c *receiver) same(at int, name, path string) error {
	if c.before < 0 {
		return wrong("it is as it was, and nothing was")
	}
	fd, _, err := sys.Regular(sys.OpenOn(c.before, path, sys.ReadFile))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EINVAL) {
		return wrong("it is as it was, and was no file")
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if c.count(min(st.Size, st.Blocks*512)); c.err != nil {
		return nil
	}
	return unix.Linkat(unix.AT_FDCWD, sys.ByDescriptor(fd), at, name, unix.AT_SYMLINK_FOLLOW)
}

func (c *receiver) link(at int, name string) error {
	mtime := c.time()
	n := int(c.number(2))
	if c.err == nil && (n == 0 || n > MaxTarget) {
		c.err = wrong("a link of %d bytes", n)
	}
	target := string(c.bytes(n))
	if c.err == nil && strings.IndexByte(target, 0) >= 0 {
		c.err = wrong("a link with a zero byte")
	}
	if c.err != nil {
		return nil
	}
	if err := unix.Symlinkat(target, at, name); err != nil {
		return err
	}
	return unix.UtimesNanoAt(at, name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}, unix.AT_SYMLINK_NOFOLLOW)
}

func setTime(fd int, mtime unix.Timespec) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, sys.ByDescriptor(fd), []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}, 0)
}

// setMarks makes those of overlayfs. Without that of an origin a deletion on the host is
// taken for none: the host gets a file back, and loses nothing.
func setMarks(fd int, marks uint8) error {
	if marks&origin != 0 {
		unix.Fsetxattr(fd, markOrigin, nil, 0)
	}
	if marks&opaque == 0 {
		return nil
	}
	return unix.Fsetxattr(fd, markOpaque, []byte("y"), 0)
}

// head reads what directories and files have. need are bits of the mode without which its
// owner could not read it.
func (c *receiver) head(modes, need uint64, may uint8) (uint32, uint8, unix.Timespec) {
	mode := c.number(2)
	marks := c.byte()
	t := c.time()
	if c.err == nil && (mode&^modes != 0 || mode&need != need || marks&^may != 0) {
		c.err = wrong("mode %#o with marks %d", mode, marks)
	}
	return uint32(mode), marks, t
}

func (c *receiver) time() unix.Timespec {
	t := unix.Timespec{Sec: int64(c.number(8)), Nsec: int64(c.number(4))}
	if c.err == nil && t.Nsec >= 1e9 {
		c.err = wrong("a time with %d ns", t.Nsec)
	}
	return t
}

func (c *receiver) byte() byte {
	b := c.bytes(1)
	if c.err != nil {
		return 0
	}
	return b[0]
}

// number reads one of so many bytes.
func (c *receiver) number(size int) uint64 {
	b := c.bytes(size)
	if c.err != nil {
		return 0
	}
	var whole [8]byte
	copy(whole[8-size:], b)
	return binary.BigEndian.Uint64(whole[:])
}

// bytes reads a short field, which is there until the next one.
func (c *receiver) bytes(n int) []byte {
	if c.err != nil {
		return nil
	}
	if cap(c.got) < n {
		c.got = make([]byte, max(n, MaxTarget))
	}
	c.got = c.got[:n]
	c.fill(c.got)
	return c.got
}

// fill reads so much. A sender that cannot go on resets its stream: it does not end it.
func (c *receiver) fill(b []byte) {
	_, err := io.ReadFull(c.r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = wrong("it ends too soon")
	}
	c.err = err
}
