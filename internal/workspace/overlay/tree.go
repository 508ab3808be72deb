package overlay

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// maxPath bounds the paths that are worked on. The kernel takes none that is longer
// than 4095 bytes; temporary names stand next to their targets and need room.
const maxPath = 4000

// tree is a directory that everything is looked up beneath.
type tree struct {
	fd   int
	path string
	read atomic.Int64 // bytes that were hashed
}

// openTree opens the tree at an absolute path that has no symbolic link in it.
func openTree(root string) (*tree, error) {
	if !path.IsAbs(root) {
		return nil, fmt.Errorf("open %q: %w", root, fs.ErrInvalid)
	}
	fd, err := sys.OpenSource(root)
	if err != nil {
		return nil, err
	}
	return &tree{fd: fd, path: root}, nil
}

func (t *tree) close() { unix.Close(t.fd) }

// at opens rel beneath dir. No link is followed and no mount is crossed.
func at(dir int, rel string, flags int) (int, error) { return sys.OpenOn(dir, rel, flags) }

// open opens rel in the tree; "." is the tree itself.
func (t *tree) open(rel string, flags int) (int, error) { return at(t.fd, rel, flags) }

// openRegular opens a regular file for reading.
func (t *tree) openRegular(rel string) (*os.File, error) {
	fd, err := t.openFile(rel)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// openFile is openRegular for those who read so many files that a descriptor has to do.
func (t *tree) openFile(rel string) (int, error) {
	fd, _, err := sys.Regular(t.open(rel, sys.ReadFile))
	return fd, err
}

// lstat reads what name in dir is, or nil if it is not there.
func lstat(dir int, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch err {
	case nil:
		return &st, nil
	case unix.ENOENT, unix.ENOTDIR:
		return nil, nil
	}
	return nil, err
}

// valid reports whether rel can be a path of something in a tree.
func valid(rel string) bool {
	return rel != "." && fsPath(rel)
}

// fsPath is fs.ValidPath for names of any bytes.
func fsPath(rel string) bool {
	if rel == "." {
		return true
	}
	if len(rel) > maxPath || strings.IndexByte(rel, 0) >= 0 {
		return false
	}
	for part := range strings.SplitSeq(rel, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// join and base are path.Join and path.Base for paths that are clean already.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

func base(rel string) string { return rel[strings.LastIndexByte(rel, '/')+1:] }

func dirOf(rel string) string {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i]
	}
	return "."
}

// below reports whether rel is dir or in it.
func below(rel, dir string) bool {
	return dir == "." || rel == dir || strings.HasPrefix(rel, dir+"/")
}
