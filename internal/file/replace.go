package file

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Temporary begins the name of a file that is not complete. A writer that was killed
// leaves such a file behind. The keeper lets no agent make a name that begins so.
const Temporary = ".ringfence-new-"

// Replace puts data at path, whole or not at all, also after a power cut. The mode is
// exactly this one, whatever the umask says. A link at path is replaced, not followed:
// who wants the file behind it asks Behind first.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return ReplaceWith(path, mode, func(f *os.File) error { return write(f, data) })
}

// ReplaceSoon puts data at path, whole or not at all for who reads it while the machine runs.
// A power cut soon after may leave an empty file.
func ReplaceSoon(path string, data []byte, mode fs.FileMode) error {
	dir, err := openParent(path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	temp, err := fillAt(dir, mode, func(f *os.File) error { return write(f, data) }, func(*os.File) error { return nil })
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return renameAt(dir, temp, filepath.Base(path))
}

// ReplaceWith does what Replace does, with what fill writes.
func ReplaceWith(path string, mode fs.FileMode, fill func(*os.File) error) error {
	dir, err := openParent(path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return replaceAt(dir, filepath.Base(path), mode, fill)
}

// ReplaceAt does what Replace does, for a name in a directory that is open. The
// descriptor may be O_PATH.
func ReplaceAt(dir int, name string, data []byte, mode fs.FileMode) error {
	return replaceAt(dir, name, mode, func(f *os.File) error { return write(f, data) })
}

// Rewrite replaces the text of a file that is there. Its mode and its owner stay, and a
// link to it stays too.
func Rewrite(path string, data []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return ReplaceWith(path, fs.FileMode(st.Mode&0o777), func(f *os.File) error {
		if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
			if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
				return err
			}
		}
		return write(f, data)
	})
}

// Create does what Replace does, and fails with fs.ErrExist where something is already.
func Create(path string, data []byte, mode fs.FileMode) error {
	dir, err := openParent(path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	temp, err := fillAt(dir, mode, func(f *os.File) error { return write(f, data) }, (*os.File).Sync)
	if err != nil {
		return err
	}
	// Unlike a rename, a link takes nobody's place.
	if err := unix.Linkat(dir, temp, dir, filepath.Base(path), 0); err != nil {
		return errors.Join(&fs.PathError{Op: "create", Path: path, Err: err}, unix.Unlinkat(dir, temp, 0))
	}
	return errors.Join(unix.Unlinkat(dir, temp, 0), syncDir(dir))
}

// Behind is the file to which a link at path leads; without a link it is path itself,
// which need not exist.
func Behind(path string) (string, error) {
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return filepath.EvalSymlinks(path)
	}
	return path, nil
}

func replaceAt(dir int, name string, mode fs.FileMode, fill func(*os.File) error) error {
	temp, err := fillAt(dir, mode, fill, (*os.File).Sync)
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	if err := renameAt(dir, temp, name); err != nil {
		return err
	}
	return syncDir(dir)
}

func renameAt(dir int, temp, name string) error {
	if err := unix.Renameat(dir, temp, dir, name); err != nil {
		return errors.Join(fmt.Errorf("write %q: %w", name, err), unix.Unlinkat(dir, temp, 0))
	}
	return nil
}

// fillAt makes a new file that is complete, as far as settle sees to it also on the disk.
func fillAt(dir int, mode fs.FileMode, fill, settle func(*os.File) error) (temp string, err error) {
	temp = Temporary + rand.Text()
	fd, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return "", &fs.PathError{Op: "create", Path: temp, Err: err}
	}
	f := os.NewFile(uintptr(fd), temp)
	err = fill(f)
	if err = errors.Join(err, f.Chmod(mode), settle(f), f.Close()); err != nil {
		return "", errors.Join(err, unix.Unlinkat(dir, temp, 0))
	}
	return temp, nil
}

func write(f *os.File, data []byte) error {
	_, err := f.Write(data)
	return err
}

func openParent(path string) (int, error) {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return fd, nil
}

// syncDir makes the names in a directory last. A directory that we may not read, or a
// file system that cannot do it, is no reason to fail: the file is there.
func syncDir(dir int) error {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if err := unix.Fsync(fd); err != nil && err != unix.EINVAL && err != unix.ENOTSUP {
		return fmt.Errorf("sync the directory: %w", err)
	}
	return nil
}
