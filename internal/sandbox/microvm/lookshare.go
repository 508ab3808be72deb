package microvm

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// tryShares tries to write to everything that a jail shares, below its root, and says that the
// workspace was tried and what came of all.
func tryShares(root int, workspace string, ops []plan.Op) (tried, share string) {
	for _, at := range shared(ops) {
		err := refusesWrites(root, at)
		switch {
		case at == shareAt+workspace && err == nil:
			tried = workspace
		case at == shareAt+workspace, err != nil && !gone(err): // what another mount covers cannot be written
			return tried, err.Error()
		}
	}
	return tried, "read-only"
}

// shared are the places at which something is mounted that an emulator could write to for a
// guest: its root, and all below the share.
func shared(ops []plan.Op) []string {
	out := []string{"/"}
	for _, o := range ops {
		if file.Within(string(o.Dst), shareAt) && (o.Do == plan.DoBind || o.Do == plan.DoCover || o.Do == plan.DoTmpfs) {
			out = append(out, string(o.Dst))
		}
	}
	return out
}

func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

// below opens something in the root of a jail. No link is followed: it would lead elsewhere here.
func below(root int, at string, flags int) (int, error) {
	return sys.OpenAt(root, strings.TrimPrefix(at, "/"), flags|unix.O_NOFOLLOW)
}

// refusesWrites wants a mount to be read-only by the kernel's word, and by trying: it makes a
// file in a directory, and opens a file to write.
func refusesWrites(root int, at string) error {
	fd, err := below(root, at, unix.O_PATH)
	if err != nil {
		return fmt.Errorf("%q: %w", at, err)
	}
	defer unix.Close(fd)
	var on unix.Statfs_t
	var st unix.Stat_t
	if err := errors.Join(unix.Fstatfs(fd, &on), unix.Fstat(fd, &st)); err != nil {
		return fmt.Errorf("%q: %w", at, err)
	}
	if on.Flags&unix.ST_RDONLY == 0 {
		return fmt.Errorf("%q can be written", at)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return refusesFile(root, at)
	}
	const name = ".ringfence-tried"
	made, err := unix.Openat(fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(made)
		unix.Unlinkat(fd, name, 0)
		return fmt.Errorf("%q can be written", at)
	}
	if !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%q: %w", at, err)
	}
	return nil
}

// refusesFile wants a file not to be opened for writing. Of one that is not the user's, or that
// somebody executes, the kernel says so first.
func refusesFile(root int, at string) error {
	fd, err := below(root, at, unix.O_WRONLY|unix.O_NONBLOCK)
	if err == nil {
		unix.Close(fd)
		return fmt.Errorf("%q can be written", at)
	}
	if !slices.ContainsFunc([]error{unix.EROFS, unix.EACCES, unix.ETXTBSY}, func(e error) bool { return errors.Is(err, e) }) {
		return fmt.Errorf("%q: %w", at, err)
	}
	return nil
}

// hides wants every name that a jail hides to have nothing in it, and a cover to be none that
// falls off.
func hides(root int, ops []plan.Op) error {
	for _, o := range ops {
		switch {
		case !file.Within(string(o.Dst), shareAt):
		case o.Do == plan.DoMask:
			if err := empty(root, string(o.Dst)); err != nil {
				return err
			}
		case o.Do == plan.DoCover:
			if err := covers(root, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func covers(root int, o plan.Op) error {
	fd, err := below(root, string(o.Dst), unix.O_PATH)
	if err != nil {
		return fmt.Errorf("%q: %w", string(o.Dst), err)
	}
	defer unix.Close(fd)
	var on unix.Statfs_t
	if err := unix.Fstatfs(fd, &on); err != nil {
		return err
	}
	if on.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return fmt.Errorf("%q is the host's own directory", string(o.Dst))
	}
	for _, name := range o.Hide {
		if err := empty(root, path.Join(string(o.Dst), string(name))); err != nil {
			return err
		}
	}
	return nil
}

// empty wants a file or directory to hold nothing, if it is there.
func empty(root int, at string) error {
	fd, err := below(root, at, unix.O_PATH)
	if gone(err) {
		return nil
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case err != nil:
		return fmt.Errorf("%q: %w", at, err)
	case kind == unix.S_IFREG && st.Size == 0:
		return nil
	case kind != unix.S_IFDIR:
		return fmt.Errorf("%q", at)
	}
	if fd, err = below(root, at, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return fmt.Errorf("%q: %w", at, err)
	}
	dir := os.NewFile(uintptr(fd), at)
	defer dir.Close()
	if names, _ := dir.Readdirnames(1); len(names) > 0 {
		return fmt.Errorf("%q", at)
	}
	return nil
}
