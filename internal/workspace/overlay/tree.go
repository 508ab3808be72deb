package overlay

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
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
	fd, err := unix.Openat2(unix.AT_FDCWD, root, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", root, err)
	}
	return &tree{fd: fd, path: root}, nil
}

func (t *tree) close() { unix.Close(t.fd) }

// at opens rel beneath dir. No link is followed and no mount is crossed.
func at(dir int, rel string, flags int) (int, error) {
	return unix.Openat2(dir, rel, &unix.OpenHow{
		Flags: uint64(flags | unix.O_NOFOLLOW | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS |
			unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV})
}

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
// O_NONBLOCK keeps a pipe that was put there in between from holding up the caller.
func (t *tree) openFile(rel string) (int, error) {
	fd, err := t.open(rel, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("not a regular file: %w", fs.ErrInvalid)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// names lists a directory, sorted. It takes the descriptor over.
func names(fd int) ([]string, error) {
	f := os.NewFile(uintptr(fd), "directory")
	defer f.Close()
	all, err := f.Readdirnames(-1)
	slices.Sort(all)
	return all, err
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

// byDescriptor is the one path to what a descriptor stands for: calls that take no
// O_PATH descriptor take this.
func byDescriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

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
