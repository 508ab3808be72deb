package overlay

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// target is a name in an open directory that is about to be something else.
type target struct {
	dir  int
	name string
	temp string
	was  *unix.Stat_t // what was judged; nil: nothing was there
	made uint64       // the file that was made under the temporary name
}

// unmoved checks that the name is still what was judged. The time of change of a
// file with several names says nothing: to replace one of them is to change it.
func (t *target) unmoved() error {
	now, err := lstat(t.dir, t.name)
	if err != nil {
		return err
	}
	if now == nil || t.was == nil {
		if now == nil && t.was == nil {
			return nil
		}
		return errMoved
	}
	same := now.Ino == t.was.Ino && now.Dev == t.was.Dev && typeOf(now) == typeOf(t.was)
	if !isDir(now) {
		same = same && now.Size == t.was.Size && now.Mtim == t.was.Mtim && (now.Nlink > 1 || t.was.Nlink > 1 || now.Ctim == t.was.Ctim)
	}
	if !same {
		return errMoved
	}
	return nil
}

// write makes the new thing under the temporary name, and then puts it in place.
func (t *target) write(prepare func() error) error {
	err := prepare()
	if err == nil {
		err = t.unmoved()
	}
	if err == nil {
		err = t.place()
	}
	if err != nil {
		return errors.Join(err, dropTemp(t.dir, t.temp, t.name, t.ino()))
	}
	return nil
}

// place puts the new thing in place with one rename. Where one of both is a
// directory they change places, and the old one goes then.
func (t *target) place() error {
	now, err := lstat(t.dir, t.temp)
	if err != nil || now == nil || t.made != 0 && now.Ino != t.made {
		return errors.Join(err, errMoved)
	}
	if t.was == nil {
		return t.placeNew()
	}
	if !isDir(now) && !isDir(t.was) {
		return rename(t.dir, t.temp, t.name, 0)
	}
	if err := rename(t.dir, t.temp, t.name, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	if err := dropTemp(t.dir, t.temp, t.name, t.ino()); err != nil {
		return err
	}
	if now, err := lstat(t.dir, t.name); err != nil || now == nil || now.Ino == t.was.Ino {
		return errors.Join(err, unix.ENOTEMPTY)
	}
	return nil
}

// placeNew puts the new thing where nothing is.
func (t *target) placeNew() error {
	err := rename(t.dir, t.temp, t.name, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	beforeWrite()
	if err := unix.Linkat(t.dir, t.temp, t.dir, t.name, 0); err != nil {
		return err
	}
	return unlink(t.dir, t.temp, 0)
}

// ino is the number of what the target was, or 0.
func (t *target) ino() uint64 {
	if t.was == nil {
		return 0
	}
	return t.was.Ino
}

// dropTemp removes a temporary name. If that is the directory which gave its place
// away, and is not empty, it gets its place back.
func dropTemp(dir int, temp, name string, was uint64) error {
	err := unlink(dir, temp, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unlink(dir, temp, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, unix.ENOTEMPTY) {
		if st, e := lstat(dir, temp); e != nil || st == nil || st.Ino != was {
			return err
		}
		if err = rename(dir, temp, name, unix.RENAME_EXCHANGE); err == nil {
			err = unlink(dir, temp, 0)
		}
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// fill copies a file of a tree into the temporary file. What arrived is hashed
// again: it is what was judged, whoever writes the source meanwhile.
func fill(from *tree, rel, want string, t *target, st *unix.Stat_t, mode uint32) error {
	in, err := from.openRegular(rel)
	if err != nil {
		return fmt.Errorf("%w: %v", errSwapped, err)
	}
	defer in.Close()
	out, err := create(t.dir, t.temp)
	if err != nil {
		return err
	}
	defer out.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	beforeWrite()
	if err := sys.CopyData(int(out.Fd()), int(in.Fd()), info.Size()); err != nil {
		return err
	}
	beforeWrite()
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum, err := hashFile(out)
	if err != nil {
		return err
	}
	if sum != want {
		return errSwapped
	}
	return finish(out, t, st, mode)
}

func fillText(text []byte, t *target, st *unix.Stat_t, mode uint32) error {
	out, err := create(t.dir, t.temp)
	if err != nil {
		return err
	}
	defer out.Close()
	beforeWrite()
	if _, err := out.Write(text); err != nil {
		return err
	}
	return finish(out, t, st, mode)
}

// finish gives the temporary file everything but its name. The mode comes last: to
// change the owner takes bits away.
func finish(out *os.File, t *target, st *unix.Stat_t, mode uint32) error {
	fd := int(out.Fd())
	var made unix.Stat_t
	if err := unix.Fstat(fd, &made); err != nil {
		return err
	}
	t.made = made.Ino
	if err := own(fd, "", st, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	if err := chmod(fd, mode); err != nil {
		return err
	}
	if err := setTime(unix.AT_FDCWD, sys.ByDescriptor(fd), st, 0); err != nil {
		return err
	}
	return fsync(fd)
}
