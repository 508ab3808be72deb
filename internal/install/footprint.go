package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// maxRecord bounds the file.
const maxRecord = 8 << 20

// footprint is a file that says what was made on a machine, so that all of it can be taken
// away again: the file itself and the directories above it included. It belongs to whoever
// runs this, alone: what it says is removed.
//
// The file and the directories that it needs appear by one rename and go by one: nobody
// who is killed leaves a directory behind that no file knows of. What is left under a
// name of ours by somebody who was killed is swept by the next one.
type footprint struct{ Path string }

// ErrNotOurs is returned for a file or directory that somebody else could have written.
var ErrNotOurs = errors.New("it is not yours alone")

// tmpOf is the one name beside another under which something is made or removed.
func tmpOf(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".ringfence-tmp")
}

// Read returns what the file says; nil if there is none.
func (f footprint) Read() ([]byte, error) {
	data, err := file.ReadOwn(f.Path, maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, file.ErrNotOurs):
		return nil, fmt.Errorf("read the record: %q: %w", f.Path, ErrNotOurs)
	case err != nil:
		return nil, fmt.Errorf("read the record: %w", err)
	}
	return data, nil
}

// Lock makes the place of the file, if there is none. first is what the file says then,
// told which directories were made. Nobody else has it until unlock is called.
func (f footprint) Lock(first func(made []string) ([]byte, error)) (unlock func(), err error) {
	dir := filepath.Dir(f.Path)
	for range 100 {
		if err := f.prepare(dir, first); err != nil {
			return nil, err
		}
		unlock, err := lockDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			return unlock, f.sweep()
		}
		// Somebody took it away in between.
	}
	return nil, fmt.Errorf("lock %q: it comes and goes", dir)
}

// prepare makes the place, while nobody else does. Without first it only sweeps.
func (f footprint) prepare(dir string, first func([]string) ([]byte, error)) error {
	missing := absent(dir)
	if len(missing) == 0 {
		return nil
	}
	// The nearest directory that is there need not be ours.
	fd, err := unix.Open(filepath.Dir(missing[0]), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make %q: %w", missing[0], err)
	}
	defer unix.Close(fd)
	if err := file.Lock(fd, unix.LOCK_EX); err != nil {
		return fmt.Errorf("make %q: %w", missing[0], err)
	}
	if len(absent(dir)) == 0 {
		return nil // somebody else made it
	}
	if err := f.sweep(); err != nil || first == nil {
		return err
	}
	return f.plant(first)
}

// Sweep removes what somebody who was killed left behind, and touches nothing of those
// who are at work.
func (f footprint) Sweep() error {
	dir := filepath.Dir(f.Path)
	if err := f.prepare(dir, nil); err != nil {
		return err
	}
	unlock, err := lockDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotOurs) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	return f.sweep()
}

// lockDir takes a directory that is ours alone, if it still has its name.
func lockDir(dir string) (func(), error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", dir, err)
	}
	var held unix.Stat_t
	err = unix.Fstat(fd, &held)
	if err == nil && (int(held.Uid) != os.Geteuid() || held.Mode&0o022 != 0) {
		err = ErrNotOurs
	}
	if err == nil {
		err = file.Lock(fd, unix.LOCK_EX)
	}
	if err == nil && !file.Named(unix.AT_FDCWD, dir, fd) {
		err = fs.ErrNotExist
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("lock %q: %w", dir, err)
	}
	return func() { unix.Close(fd) }, nil
}

// plant makes the missing directories, and the file in them, by one rename.
func (f footprint) plant(first func([]string) ([]byte, error)) error {
	missing := absent(filepath.Dir(f.Path))
	if len(missing) == 0 {
		return nil
	}
	data, err := first(missing)
	if err != nil {
		return err
	}
	top := missing[0]
	tmp := tmpOf(top)
	place := tmp + f.Path[len(top):]
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	if err := writeFile(place, data, 0o600); err != nil {
		return err
	}
	err = unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, top, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		err = os.Rename(tmp, top)
	}
	if err != nil {
		return fmt.Errorf("make %q: %w", top, err)
	}
	return nil
}

// absent lists the directories on the way to dir that do not exist, outermost first.
func absent(dir string) []string {
	var out []string
	for ; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		out = append(out, dir)
	}
	slices.Reverse(out)
	return out
}

// sweep removes what is left under names of ours.
func (f footprint) sweep() error {
	for path := f.Path; path != "/" && path != "."; path = filepath.Dir(path) {
		if err := os.RemoveAll(tmpOf(path)); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) {
			return err
		}
	}
	return nil
}

// writeFile replaces a file, and follows no link in its place.
func writeFile(path string, data []byte, mode os.FileMode) error {
	tmp := tmpOf(path)
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// Remove takes the file away, and the directories that were made, if they are empty.
// What is not empty is somebody's.
func (f footprint) Remove(made []string) error {
	var own []string // on the way to the file
	for _, dir := range slices.Backward(made) {
		if above(dir, f.Path) {
			own = append(own, dir)
			continue
		}
		_ = unix.Rmdir(dir)
	}
	for _, top := range slices.Backward(own) {
		if f.alone(top) {
			tmp := tmpOf(top)
			if err := os.Rename(top, tmp); err != nil {
				return fmt.Errorf("remove %q: %w", top, err)
			}
			return os.RemoveAll(tmp)
		}
	}
	if err := os.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record: %w", err)
	}
	return nil
}

// alone holds for a directory that has nothing in it but the way to the file.
func (f footprint) alone(top string) bool {
	for dir := filepath.Dir(f.Path); ; dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			return false
		}
		if dir == top {
			return true
		}
	}
}

// above holds for a directory that lies on the way to a path.
func above(dir, path string) bool {
	return len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}
