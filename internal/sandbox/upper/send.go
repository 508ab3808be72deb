package upper

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Source sends the upper directory of an overlay, again and again. It remembers what the
// receiver has. One stream is sent at a time.
type Source struct {
	Dir string

	have memory // what the receiver has, by its own word
	sent memory // what it has once it has taken the last stream
}

// memory is one generation, as it was sent.
type memory struct {
	number  uint32 // 0: none
	entries map[string]state
}

// state is by what an entry is known to be as it was.
type state struct {
	record byte
	ino    uint64
	size   int64
	mode   uint32
	mtime  unix.Timespec
	ctime  unix.Timespec
	marks  uint8
	text   string            // the target of a link
	sum    [sha256.Size]byte // of a file
	loose  bool              // it may have changed without a trace: it is never taken for the same
}

// like says whether two entries are the same by what the kernel says of them.
func (a state) like(b state) bool {
	a.sum, b.sum = [sha256.Size]byte{}, [sha256.Size]byte{}
	return a == b && !a.loose
}

// Send writes all that is there to w. have is the number of the generation that the
// receiver has, 0 for none; what it gets by this has the next number. With whole, files are
// compared by content: a mapping can change one without a trace for a while.
func (s *Source) Send(w io.Writer, have uint32, whole bool) error {
	switch {
	case have != 0 && have == s.sent.number:
		s.have = s.sent
	case have != s.have.number:
		s.have = memory{}
	}
	s.sent = memory{}
	root, err := sys.OpenSource(s.Dir)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	out := &sender{w: bufio.NewWriterSize(w, MaxPiece+64), root: root, have: s.have.entries, whole: whole, now: map[string]state{}, read: map[string]bool{}}
	out.w.WriteString(preface)
	if have != 0 && s.have.number == have {
		same, err := out.unchanged()
		if err != nil {
			return err
		}
		if same {
			s.sent = s.have
			out.w.WriteByte(recordUnchanged)
			return out.w.Flush()
		}
		out.now, out.seen = map[string]state{}, 0
	}
	if err := out.dir("."); err != nil {
		return err
	}
	out.record(recordEnd, "")
	out.number(4, uint64(out.seen))
	if err := out.w.Flush(); err != nil {
		return err
	}
	s.sent = memory{have + 1, out.now}
	return nil
}

// sender is one stream under way.
type sender struct {
	w     *bufio.Writer
	root  int
	have  map[string]state
	now   map[string]state
	whole bool
	dry   bool // nothing is written: the first difference ends it
	seen  int
	read  map[string]bool // files whose content was compared
	buf   [MaxPiece]byte
}

// errDiffers ends a look for differences.
var errDiffers = errors.New("it differs")

// unchanged says whether everything is as it was.
func (o *sender) unchanged() (bool, error) {
	o.dry = true
	defer func() { o.dry = false }()
	err := o.dir(".")
	if errors.Is(err, errDiffers) {
		return false, nil
	}
	return err == nil && o.seen == len(o.have), err
}

// dir sends what is in a directory. No descriptor is held on the way down: the agent
// says how deep that is.
func (o *sender) dir(rel string) error {
	fd, err := sys.OpenOn(o.root, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil // the agent took it away meanwhile
	}
	if err != nil {
		return err
	}
	names, err := sys.Names(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := o.entry(rel, name); err != nil {
			return err
		}
	}
	return nil
}

// entry sends one name, and what is in it.
func (o *sender) entry(dir, name string) error {
	at, err := sys.OpenOn(o.root, dir, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	rel := name
	if dir != "." {
		rel = dir + "/" + name
	}
	st, err := readable(at, name)
	down := false
	if err == nil && st != nil {
		down, err = o.one(at, rel, name, st)
	}
	unix.Close(at)
	if err != nil {
		return wrap(err, rel)
	}
	if !down {
		return nil
	}
	if err := o.dir(rel); err != nil {
		return err
	}
	o.record(recordUp, "")
	return nil
}

func wrap(err error, rel string) error {
	if errors.Is(err, errDiffers) {
		return err
	}
	return fmt.Errorf("%q in the layer: %w", rel, err)
}

// one sends what a name stands for, and says whether there is more in it.
func (o *sender) one(at int, rel, name string, st *unix.Stat_t) (down bool, err error) {
	x := state{ino: st.Ino, size: st.Size, mode: st.Mode & 0o777, mtime: st.Mtim, ctime: st.Ctim}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFCHR && st.Rdev == 0:
		return false, o.plain(rel, name, state{record: recordWhite})
	case len(rel) > MaxPath, kind == unix.S_IFREG && st.Size > MaxFile:
	case kind == unix.S_IFDIR:
		return o.directory(at, rel, name, x, st)
	case kind == unix.S_IFREG:
		return false, o.file(at, rel, name, x)
	case kind == unix.S_IFLNK:
		x.record = recordLink
		if x.text, err = sys.ReadLink(at, name); errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
			return false, nil
		}
		if err == nil {
			err = o.note(rel, x)
		}
		if err == nil {
			o.record(recordLink, name)
			o.time(x.mtime)
			o.number(2, uint64(len(x.text)))
			o.text(x.text)
		}
		return false, err
	}
	return false, o.plain(rel, name, state{record: recordSpecial})
}

// plain sends an entry that has only a name.
func (o *sender) plain(rel, name string, x state) error {
	err := o.note(rel, x)
	if err == nil {
		o.record(x.record, name)
	}
	return err
}

// note takes down what is sent. While it looks for differences, the first one ends it.
func (o *sender) note(rel string, x state) error {
	if was, ok := o.have[rel]; o.dry && (!ok || !was.like(x)) {
		return errDiffers
	}
	o.seen++
	o.now[rel] = x
	return nil
}

func (o *sender) directory(at int, rel, name string, x state, st *unix.Stat_t) (bool, error) {
	fd, err := sys.OpenOn(at, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false, gone(err)
	}
	defer unix.Close(fd)
	x.record, x.size, x.ctime, x.mode = recordDir, 0, unix.Timespec{}, st.Mode&0o3777
	if x.marks, _, err = marks(fd); err != nil {
		return false, err
	}
	if err := o.note(rel, x); err != nil {
		return false, err
	}
	o.record(recordDir, name)
	o.head(x)
	return true, nil
}

// gone is nothing where an entry was taken away or replaced meanwhile.
func gone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

// loose is how long a change may take to show in the time of a file. Tests take none.
var loose = 100 * time.Millisecond

func (o *sender) file(at int, rel, name string, x state) error {
	fd, err := sys.OpenOn(at, name, sys.ReadFile)
	if err != nil {
		return gone(err)
	}
	defer unix.Close(fd)
	m, white, err := marks(fd)
	if err != nil {
		return err
	}
	if white && x.size == 0 {
		return o.plain(rel, name, state{record: recordWhite})
	}
	x.record, x.marks = recordFile, m
	x.loose = time.Since(time.Unix(x.ctime.Sec, x.ctime.Nsec)) < loose
	was, known := o.have[rel]
	same := known && was.like(x)
	if same && o.whole && !o.read[rel] {
		if same, err = o.contentIs(fd, x.size, was.sum); err != nil {
			return err
		}
		o.read[rel] = same
	}
	if same {
		was.loose = x.loose
		o.seen++
		o.now[rel] = was
		o.record(recordSame, name)
		return nil
	}
	if o.dry {
		return errDiffers
	}
	o.record(recordFile, name)
	o.head(x)
	o.number(8, uint64(x.size))
	sum := sha256.New()
	if err := o.pieces(fd, x.size, sum, true); err != nil {
		return err
	}
	o.number(4, 0)
	sum.Sum(x.sum[:0])
	return o.note(rel, x)
}

func (o *sender) contentIs(fd int, size int64, want [sha256.Size]byte) (bool, error) {
	sum := sha256.New()
	err := o.pieces(fd, size, sum, false)
	return [sha256.Size]byte(sum.Sum(nil)) == want, err
}

// pieces reads what a file holds, without its holes. What it has beyond its size was
// written meanwhile, and comes the next time.
func (o *sender) pieces(fd int, size int64, sum hash.Hash, send bool) error {
	for off := int64(0); off < size; {
		data, err := unix.Seek(fd, off, unix.SEEK_DATA)
		if err == unix.ENXIO {
			return nil
		}
		if err == nil {
			off = data
		}
		n, err := unix.Pread(fd, o.buf[:min(int64(len(o.buf)), max(size-off, 0))], off)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		var at [8]byte
		binary.BigEndian.PutUint64(at[:], uint64(off))
		sum.Write(at[:])
		sum.Write(o.buf[:n])
		if send {
			o.number(4, uint64(n))
			o.number(8, uint64(off))
			if _, err := o.w.Write(o.buf[:n]); err != nil {
				return err
			}
		}
		off += int64(n)
	}
	return nil
}

// readable reads what a name is, and lets its owner read it: what cannot be read cannot be
// reviewed.
func readable(at int, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return nil, gone(err)
	}
	need := uint32(0)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if need = 0o700; st.Mode&0o500 == 0o500 {
			need = 0
		}
	case unix.S_IFREG:
		need = 0o400
	}
	if st.Mode&need == need || unix.Geteuid() == 0 {
		st.Mode |= need
		return &st, nil
	}
	fd, err := sys.OpenOn(at, name, unix.O_PATH)
	if err != nil {
		return nil, gone(err)
	}
	defer unix.Close(fd)
	if err := sys.Chmod(fd, st.Mode&0o7777|need); err != nil {
		return nil, err
	}
	err = unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return &st, err
}

// marks reads those of overlayfs.
func marks(fd int) (m uint8, white bool, err error) {
	if n, err := unix.Flistxattr(fd, nil); err == nil && n == 0 {
		return 0, false, nil
	}
	has := func(name string) bool {
		_, err := unix.Fgetxattr(fd, name, nil)
		return err == nil
	}
	for _, name := range foreign {
		if has(name) {
			return 0, false, errForeign
		}
	}
	var value [8]byte
	if n, err := unix.Fgetxattr(fd, markOpaque, value[:]); err == nil && string(value[:n]) == "y" {
		m |= opaque
	}
	if has(markOrigin) {
		m |= origin
	}
	return m, has(markWhiteout), nil
}

func (o *sender) record(kind byte, name string) {
	if o.dry {
		return
	}
	o.w.WriteByte(kind)
	if name != "" {
		o.w.WriteByte(byte(len(name)))
		o.w.WriteString(name)
	}
}

func (o *sender) head(x state) {
	o.number(2, uint64(x.mode))
	o.number(1, uint64(x.marks))
	o.time(x.mtime)
}

func (o *sender) time(t unix.Timespec) {
	o.number(8, uint64(t.Sec))
	o.number(4, uint64(t.Nsec))
}

func (o *sender) text(s string) {
	if !o.dry {
		io.Copy(o.w, strings.NewReader(s))
	}
}

// number writes one of so many bytes.
func (o *sender) number(size int, n uint64) {
	if o.dry {
		return
	}
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	o.w.Write(b[8-size:])
}
