package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/agent"
)

// dir is a directory of PATH, held open: what happens to its name meanwhile does not
// matter.
type dir struct {
	fd   int
	path string
}

// openDir opens the directory without following a link, and refuses one in which others
// could replace what is put there.
func openDir(path string) (*dir, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		hint := ""
		if real, e := filepath.EvalSymlinks(path); e == nil {
			hint = "if that is meant: --dir " + real
		}
		return nil, fault.New(fault.Refused, hint, "%q leads through a symbolic link", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	if int(st.Uid) != os.Geteuid() && st.Uid != 0 || st.Mode&0o002 != 0 {
		unix.Close(fd)
		return nil, fault.New(fault.Refused, "take another with --dir", "others can replace what lies in %q", path)
	}
	return &dir{fd, path}, nil
}

func (d *dir) close() { unix.Close(d.fd) }

// what stands under a name.
type what int

const (
	nothing what = iota
	ours
	foreign // a file or a link
	other   // neither: it is not touched
)

// look says what stands under a name, and which file it is.
func (d *dir) look(name string) (what, Identity, error) {
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nothing, Identity{}, nil
	}
	if err != nil {
		return other, Identity{}, fmt.Errorf("look at %q: %w", filepath.Join(d.path, name), err)
	}
	id := Identity{uint64(st.Dev), st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		return foreign, id, nil
	case unix.S_IFREG:
		if agent.IsShadow(d.head(name)) {
			return ours, id, nil
		}
		return foreign, id, nil
	}
	return other, id, nil
}

func (d *dir) head(name string) []byte {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, 64))
	return data
}

// put writes a file that is not there yet.
func (d *dir) put(name string, data []byte) error {
	fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o755)
	if err != nil {
		return fmt.Errorf("write %q: %w", filepath.Join(d.path, name), err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(data)
	// Whatever umask says: the name is for everybody who can see the directory.
	if err = errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %q: %w", filepath.Join(d.path, name), err)
	}
	return nil
}

// move renames; it does not replace anything unless it is told to.
func (d *dir) move(from, to string, replace bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		flags = 0
	}
	err := unix.Renameat2(d.fd, from, d.fd, to, flags)
	if !replace && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)) {
		if w, _, e := d.look(to); e != nil || w != nothing {
			err = errors.Join(fs.ErrExist, e)
		} else {
			err = unix.Renameat(d.fd, from, d.fd, to)
		}
	}
	if err != nil {
		return fmt.Errorf("rename %q to %q in %q: %w", from, to, d.path, err)
	}
	return nil
}

// swap exchanges two names, so that at no moment one of them is missing.
func (d *dir) swap(a, b string) error { return unix.Renameat2(d.fd, a, d.fd, b, unix.RENAME_EXCHANGE) }

func (d *dir) remove(name string) error {
	if err := unix.Unlinkat(d.fd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %q: %w", filepath.Join(d.path, name), err)
	}
	return nil
}

func (d *dir) sync() error { return unix.Fsync(d.fd) }
