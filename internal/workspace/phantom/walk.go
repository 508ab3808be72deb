package phantom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Found is a file whose name says that it holds secrets.
type Found struct {
	Rel  string
	Kind Kind // what becomes of it; not told for a link
	Size int64
	Link bool // a symbolic link: where it leads was not looked at
}

// Budget is how much one step may do. What is 0 is not bounded.
type Budget struct {
	Dirs, Entries int
	Time          time.Duration
	Always        int // entries and directories that are looked at however long it takes
}

// pruned are directories that are not walked: what tools fetch and build, which is
// much, and git's own. What lies in one itself is looked at, as a build copies its
// settings there; the directories in it are not.
var pruned = []string{
	".git", ".hg", ".svn", "node_modules", "bower_components", ".venv", "venv", "vendor", "target", "dist", "__pycache__", ".cache", ".tox",
	".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".next", ".nuxt", ".turbo", ".parcel-cache", ".yarn", ".pnpm-store", ".m2", "pods",
}

// maxPending is the bound of a Walk unless somebody sets another.
const maxPending = 1 << 20

// ErrMany says that a tree has more directories than a Walk can keep in mind: not all
// of it was looked at.
var ErrMany = errors.New("too many directories")

// Walk finds the files of a tree in steps. It opens directories and no path twice,
// follows no link, and asks nothing of a file but its name before it matches.
type Walk struct {
	root    int
	rules   *Rules
	pending []string // directories to be read
	dir     int      // the one that is, or -1
	rel     string   // its path, with a slash unless it is the root
	buf     []byte
	rest    []byte // entries of buf that were not looked at
	flat    bool   // the open directory is a pruned one

	// Enter is called for every directory before it is read, with a descriptor of it;
	// nil: nobody wants to know.
	Enter func(fd int, rel string)
	// Closed is called for a directory that may not be read. Who owns it can open it.
	Closed func(rel string)
	// Deep has everything walked but what git keeps for itself.
	Deep bool
	// Most bounds the directories that are kept in mind, and with them the memory.
	Most int
}

// NewWalk opens the tree at root, to be walked from the directory below it.
func NewWalk(root, below string, r *Rules) (*Walk, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("walk %q: %w", root, err)
	}
	return &Walk{root: fd, rules: r, pending: []string{below}, dir: -1, buf: make([]byte, 32<<10), Most: maxPending}, nil
}

// Close lets go of the tree.
func (w *Walk) Close() {
	w.leave()
	if w.root >= 0 {
		unix.Close(w.root)
		w.root = -1
	}
}

func (w *Walk) leave() {
	if w.dir >= 0 {
		unix.Close(w.dir)
		w.dir = -1
	}
	w.rest = nil
}

// Find walks a tree once, within a budget.
func Find(root string, r *Rules, b Budget) ([]Found, bool, error) {
	w, err := NewWalk(root, "", r)
	if err != nil {
		return nil, false, err
	}
	defer w.Close()
	return w.Step(b)
}

// Step goes on with the walk until the budget is spent. It is done when nothing is
// left. Directories that are gone or may not be read are passed over.
func (w *Walk) Step(b Budget) (found []Found, done bool, err error) {
	if w.root < 0 {
		return nil, false, errors.New("walk: it is closed")
	}
	start, dirs := time.Now(), 0
	late := func(entries int) bool {
		return b.Time > 0 && entries+dirs >= b.Always && time.Since(start) >= b.Time
	}
	for entries := 0; ; entries++ {
		if b.Entries > 0 && entries >= b.Entries || entries%64 == 63 && late(entries) {
			return found, false, nil
		}
		for len(w.rest) == 0 {
			more, err := w.fill()
			if err != nil {
				return found, false, err
			}
			if more {
				continue
			}
			if len(w.pending) == 0 {
				return found, true, nil
			}
			if b.Dirs > 0 && dirs >= b.Dirs || dirs%16 == 15 && late(entries) {
				return found, false, nil
			}
			dirs++
			if err := w.enter(); err != nil {
				return found, false, err
			}
		}
		f, ok, err := w.entry()
		if err != nil {
			return found, false, err
		}
		if ok {
			found = append(found, f)
		}
	}
}

// enter opens the next directory. That nothing can be opened just now is an error: what
// was not looked at must not be taken for looked at.
func (w *Walk) enter() error {
	last := len(w.pending) - 1
	rel := w.pending[last]
	w.pending = w.pending[:last]
	fd, err := sys.OpenAt(w.root, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.EACCES && w.Closed != nil {
		w.Closed(rel)
	}
	if starved(err) {
		return fmt.Errorf("walk: open %q: %w", rel, err)
	}
	if err != nil {
		return nil
	}
	w.dir, w.rel, w.flat = fd, rel, !w.Deep && Pruned(rel)
	if w.Enter != nil {
		w.Enter(fd, rel)
	}
	if rel != "" {
		w.rel += "/"
	}
	return nil
}

// starved holds where the system has nothing left to open files with.
func starved(err error) bool {
	return err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM || err == unix.EIO
}

// fill reads entries of the open directory. It is false at its end.
func (w *Walk) fill() (bool, error) {
	if w.dir < 0 {
		return false, nil
	}
	n, err := unix.Getdents(w.dir, w.buf)
	for err == unix.EINTR {
		n, err = unix.Getdents(w.dir, w.buf)
	}
	if err != nil && err != unix.ENOENT && err != unix.EACCES { // it was removed meanwhile
		return false, fmt.Errorf("walk: read %q: %w", w.rel, err)
	}
	if n <= 0 || err != nil {
		w.leave()
		return false, nil
	}
	w.rest = w.buf[:n]
	return true, nil
}

// entry looks at one entry of a directory: an inode, an offset, a length, a type and
// a name that ends in a zero.
func (w *Walk) entry() (Found, bool, error) {
	const lengthAt, typeAt, nameAt = 16, 18, 19
	length := int(binary.NativeEndian.Uint16(w.rest[lengthAt:]))
	kind, raw := w.rest[typeAt], w.rest[nameAt:length]
	w.rest = w.rest[length:]
	for i, c := range raw {
		if c == 0 {
			raw = raw[:i]
			break
		}
	}
	name := string(raw)
	if name == "." || name == ".." {
		return Found{}, false, nil
	}
	if kind == unix.DT_UNKNOWN {
		kind = w.kind(name)
	}
	switch kind {
	case unix.DT_DIR:
		if len(w.pending) >= w.Most {
			return Found{}, false, fmt.Errorf("walk: below %q: %w", w.rel, ErrMany)
		}
		if !w.flat && (!Kept(name) || w.Deep && !foldEqual(name, ".git")) {
			w.pending = append(w.pending, w.rel+name)
		}
	case unix.DT_LNK:
		return Found{Rel: w.rel + name, Link: true}, w.rules.Match(w.rel + name), nil
	case unix.DT_REG:
		if w.rules.Match(w.rel + name) {
			f, ok := w.look(name)
			return f, ok, nil
		}
	}
	return Found{}, false, nil
}

// kind asks for the type that the directory did not tell.
func (w *Walk) kind(name string) byte {
	var st unix.Stat_t
	if unix.Fstatat(w.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return unix.DT_UNKNOWN
	}
	return byte(st.Mode & unix.S_IFMT >> 12)
}

// Pruned says whether a directory, or one above it, is not walked further.
func Pruned(rel string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		for _, p := range pruned {
			if foldEqual(part, p) {
				return true
			}
		}
	}
	return false
}

// Kept holds for what version control keeps for itself.
func Kept(name string) bool {
	return foldEqual(name, ".git") || foldEqual(name, ".hg") || foldEqual(name, ".svn")
}

// look judges a file by its content. One that cannot be read is shown empty.
func (w *Walk) look(name string) (Found, bool) {
	f := Found{Rel: w.rel + name, Kind: Empty}
	fd, err := unix.Openat(w.dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return f, err == unix.EACCES || err == unix.EPERM || starved(err)
	}
	file := os.NewFile(uintptr(fd), strings.ToValidUTF8(name, "?"))
	defer file.Close()
	st, err := file.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return f, false
	}
	if f.Size = st.Size(); f.Size <= maxFile {
		if data, err := io.ReadAll(io.LimitReader(file, maxFile+1)); err == nil {
			f.Kind = judge(f.Rel, data)
		}
	}
	return f, true
}
