package scan

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

// maxFile bounds how much of a file is looked at.
const maxFile = 1 << 20

var (
	errLarge  = errors.New("larger than 1 MiB")
	errNoFile = errors.New("not a regular file")
	errAway   = errors.New("a link that leads out of the tree")
	errBudget = errors.New("more in all than is looked into")
	errNames  = errors.New("more names than are looked at")
)

// awayError says where a link leads.
type awayError struct{ to string }

func (e *awayError) Error() string     { return errAway.Error() }
func (e *awayError) Is(err error) bool { return err == errAway }

// away is the error for a link that leads out. One that stands for a held file is as
// good as none: nothing is there, for anybody. With ".." in it, it is not that one.
func away(to string) error {
	if to == path.Clean(to) && within(to, file.Nowhere) {
		return unix.ENOENT
	}
	return &awayError{to}
}

func awayTo(err error) string {
	if e := (*awayError)(nil); errors.As(err, &e) {
		return e.to
	}
	return ""
}

// tree is the root of what is looked at.
type tree struct {
	fd   int
	root string // as the kernel names it
}

func openTree(root string) (*tree, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("scan %q: %w", root, err)
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("scan %q: %w", root, err)
	}
	return &tree{fd, name}, nil
}

func (t *tree) close() { unix.Close(t.fd) }

// open opens a path. Links on the way may lead to elsewhere in the tree: an agent
// follows them too. The path returned has none.
func (t *tree) open(rel string, flags int) (int, string, error) {
	if flags&unix.O_PATH == 0 {
		flags |= unix.O_NONBLOCK | unix.O_NOCTTY
	}
	const resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	fd, err := sys.Open(t.fd, rel, flags, resolve)
	if err == unix.EXDEV { // by its text; it may lead back
		if rel, err = t.resolve(rel); err != nil {
			return -1, "", err
		}
		fd, err = sys.Open(t.fd, rel, flags, resolve)
	}
	if err == unix.EXDEV {
		return -1, "", &awayError{}
	}
	if err != nil {
		return -1, "", err
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	real, ok := strings.CutPrefix(name, strings.TrimSuffix(t.root, "/")+"/")
	if name == t.root {
		real, ok = ".", true
	}
	if err != nil || !ok {
		unix.Close(fd)
		return -1, "", &awayError{name}
	}
	return fd, real, nil
}

// resolve follows a path by the text of its links, where the kernel does not: a link
// with an absolute path, or over directories above the root, may lead into the tree
// all the same. Directories above the root are no links, as the kernel names it.
func (t *tree) resolve(rel string) (string, error) {
	root, todo := split(t.root), split(rel)
	at := slices.Clone(root)
	for hops := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			at = at[:max(0, len(at)-1)]
			continue
		}
		at = append(at, name)
		if len(at) <= len(root) && slices.Equal(at, root[:len(at)]) {
			continue
		}
		if len(at) <= len(root) || !slices.Equal(at[:len(root)], root) {
			return "", away("/" + strings.Join(append(at, todo...), "/"))
		}
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(t.fd, strings.Join(at[len(root):], "/"), buf)
		if err == unix.EINVAL {
			continue
		}
		if hops++; err != nil || hops > 40 {
			return "", cmp.Or(err, error(unix.ELOOP))
		}
		if at = at[:len(at)-1]; buf[0] == '/' {
			at = nil
		}
		todo = append(split(string(buf[:n])), todo...)
	}
	if len(at) < len(root) || !slices.Equal(at[:len(root)], root) {
		return "", away("/" + strings.Join(at, "/"))
	}
	return cmp.Or(strings.Join(at[len(root):], "/"), "."), nil
}

// split takes a path apart.
func split(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" || s == "." })
}

// within reports whether a path is a directory or below it, by its text.
func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// leads returns where a path that is written in a file leads, if that is in the tree.
func (t *tree) leads(from, to string) (string, bool) {
	if path.IsAbs(to) {
		if !within(path.Clean(to), t.root) {
			return "", false
		}
		return strings.TrimPrefix(strings.TrimPrefix(path.Clean(to), t.root), "/"), true
	}
	to = path.Join(from, to)
	return to, local(to)
}

// read returns a file and where it really is. What is no regular file is not opened:
// to open a device may do something.
func (t *tree) read(rel string) (data []byte, real string, err error) {
	look, real, err := t.open(rel, unix.O_PATH)
	if err != nil {
		return nil, rel, err
	}
	defer unix.Close(look)
	var st unix.Stat_t
	if err := unix.Fstat(look, &st); err != nil {
		return nil, real, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		return nil, real, unix.ENOENT
	default:
		return nil, real, errNoFile
	}
	if st.Size > maxFile {
		return nil, real, errLarge
	}
	fd, again, err := t.open(real, unix.O_RDONLY|unix.O_NOFOLLOW)
	if err != nil || again != real {
		return nil, real, errors.Join(err, errNoFile)
	}
	f := os.NewFile(uintptr(fd), real)
	defer f.Close()
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() {
		return nil, real, errNoFile
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errLarge
	}
	return data, real, err
}

// links is where the links on a path lead, by their text.
func (t *tree) links(rel string) string {
	var out []string
	for at := rel; at != "."; at = path.Dir(at) {
		buf := make([]byte, unix.PathMax)
		if n, err := unix.Readlinkat(t.fd, at, buf); err == nil {
			out = append(out, at+" -> "+string(buf[:n]))
		}
	}
	return strings.Join(out, "\n")
}

// absent reports an error that says that there is nothing to look at.
func absent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENAMETOOLONG)
}

// walk lists directories, breadth first, until its budget is spent.
type walk struct {
	tree    *tree
	budget  Budget
	begin   time.Time
	pending []string
	seen    map[string]bool
	entries int
	cut     bool // something was left out
	visit   func(rel string, kind byte)
	// all: nothing is passed over, and links are followed to directories of the tree.
	all    bool
	closed func(dir string, err error) // with all, told of what cannot be listed
	below  func(dir string) string     // with all, what the names below a directory may mean
	only   bool                        // not the root, unless it is said
	deep   bool                        // nothing is passed over but git's own
}

// maxPending bounds the memory that a tree can make us use, maxDeep where nothing is passed
// over.
const (
	maxPending = 1 << 16
	maxDeep    = 1 << 20
)

// pruned are directories that are not walked: what tools fetch and build, and git's
// own history.
var pruned = map[string]bool{
	".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, "bower_components": true, ".venv": true, "venv": true,
	"__pycache__": true, ".cache": true, ".tox": true, ".nox": true, ".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true,
	".gradle": true, ".next": true, ".nuxt": true, ".turbo": true, ".pnpm-store": true, ".m2": true,
}

// fetched holds for what lies in a directory that is passed over otherwise.
func fetched(rel string) bool {
	for part := range strings.SplitSeq(path.Dir(rel), "/") {
		if pruned[part] {
			return true
		}
	}
	return false
}

func (w *walk) spent() bool {
	return w.entries >= w.budget.Entries || w.late()
}

func (w *walk) late() bool {
	return w.entries > w.budget.Always && time.Since(w.begin) >= w.budget.Time
}

func (w *walk) run(first []string) {
	w.begin, w.seen = time.Now(), map[string]bool{}
	for _, dir := range first {
		w.add(dir)
	}
	if !w.only {
		w.add(".")
	}
	for n := 0; n < len(w.pending); n++ {
		if w.spent() {
			w.cut = true
			return
		}
		w.list(w.pending[n])
	}
}

func (w *walk) add(dir string) {
	if w.seen[dir] {
		return
	}
	if len(w.pending) >= maxPending && (!w.deep || len(w.pending) >= maxDeep) {
		w.cut = true
		return
	}
	w.seen[dir] = true
	w.pending = append(w.pending, dir)
}

// list reads one directory. One that is gone or may not be read is passed over. The
// walk adds no links; that of .claude, say, may be one that leads to elsewhere in the
// tree.
func (w *walk) list(dir string) {
	fd, real, err := w.tree.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		w.cut = w.cut || !absent(err)
		if w.all && !absent(err) {
			w.closed(dir, err)
		}
		return
	}
	defer unix.Close(fd)
	if w.all && dir != real { // by links: the same directory means more by one name than by another
		key := "\x00" + real
		if w.below != nil {
			key += "\x00" + w.below(dir)
		}
		if w.seen[key] {
			return
		}
		w.seen[key] = true
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return
		}
		for rest := buf[:n]; len(rest) > 0; {
			var name string
			var kind byte
			if name, kind, rest = entryOf(rest); name == "." || name == ".." {
				continue
			}
			if w.entries%64 == 0 && w.spent() || w.entries >= w.budget.Entries {
				w.cut = true
				return
			}
			w.entries++
			if w.budget.Step != nil && w.entries%64 == 0 {
				w.budget.Step(w.entries)
			}
			w.entry(fd, dir, name, kind)
		}
	}
}

// entryOf takes one entry off: an inode, an offset, a length, a type and a name that
// ends in a zero.
func entryOf(b []byte) (name string, kind byte, rest []byte) {
	const lengthAt, typeAt, nameAt = 16, 18, 19
	length := int(binary.NativeEndian.Uint16(b[lengthAt:]))
	name, _, _ = strings.Cut(string(b[nameAt:length]), "\x00")
	return name, b[typeAt], b[length:]
}

func (w *walk) entry(dir int, above, name string, kind byte) {
	if kind == unix.DT_UNKNOWN {
		var st unix.Stat_t
		if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			kind = byte(st.Mode & unix.S_IFMT >> 12)
		}
	}
	rel := path.Join(above, name)
	w.visit(rel, kind)
	if kind == unix.DT_LNK && w.all {
		w.add(rel) // if it is no directory, nothing is listed
		return
	}
	if kind != unix.DT_DIR || pruned[name] && !w.all && (!w.deep || name == ".git") {
		return
	}
	if strings.Count(rel, "/") >= w.budget.Depth {
		w.cut = true
		return
	}
	w.add(rel)
}

// local reports whether a path names something in the tree, by its text.
func local(rel string) bool {
	return filepath.IsLocal(rel) && !strings.ContainsRune(rel, 0)
}
