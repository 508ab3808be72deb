package overlay

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// settle takes from the layer what the host has now, and what never changed
// anything. The host was synced before.
func (a *applier) settle() error {
	if a.l.Copy {
		return a.settleCopy()
	}
	for _, it := range a.items {
		if it.done && (it.up != nil && !isDir(it.up) || it.white) {
			if err := a.forget(it.path, 0); err != nil {
				return err
			}
		}
	}
	for _, e := range a.idle {
		if err := a.forget(e.path, 0); err != nil {
			return err
		}
	}
	for _, e := range slices.Backward(a.dirs) {
		if it := a.at[e.path]; it != nil && !it.done {
			continue
		}
		if err := a.forget(e.path, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// forget removes one name from the layer.
func (a *editor) forget(rel string, flags int) error {
	dir, err := a.dir(a.upper, dirOf(rel))
	if err == nil {
		err = unlink(dir, base(rel), flags)
		unix.Close(dir)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("forget %q: %w", rel, err)
	}
	return nil
}

// settleCopy makes a copy equal to the host where the host did not take its content
// as it was.
func (a *applier) settleCopy() error {
	for _, it := range a.items {
		if !it.done || it.change.New == nil || it.change.New.Type != change.File || a.reversed {
			continue
		}
		var err error
		switch {
		case it.outcome == Merged || it.outcome == Same:
			err = a.takeBack(it)
		case it.up.Mode&0o7000 != 0:
			var fd int
			if fd, err = a.upper.open(it.path, unix.O_PATH); err == nil {
				err = chmod(fd, it.up.Mode&0o777)
				unix.Close(fd)
			}
		}
		if err != nil {
			return fmt.Errorf("settle %q: %w", it.path, err)
		}
	}
	return nil
}

// takeBack brings a file of the host to the copy.
func (a *editor) takeBack(it *item) error {
	var st unix.Stat_t
	in, err := a.host.openRegular(it.path)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := unix.Fstat(int(in.Fd()), &st); err != nil {
		return err
	}
	sum, err := hashFile(in)
	if err != nil {
		return err
	}
	dir, err := a.dir(a.upper, dirOf(it.path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	t := &target{dir: dir, name: base(it.path), temp: newTemp(), was: it.up}
	if err := a.log.add(record{Op: opBegin, Side: sideUpper, Path: []byte(it.path), Temp: t.temp}); err != nil {
		return err
	}
	return t.write(func() error { return fill(a.host, it.path, sum, t, &st, st.Mode&0o7777) })
}

// spellOut replaces every opaque mark of the layer by what it means: a whiteout for
// each name of the host that it hides. Then one thing can be taken from the layer
// without a change to what the rest of it means. Every step leaves the meaning.
func (a *editor) spellOut() error {
	if a.l.Copy {
		return nil
	}
	return a.spell(".")
}

func (a *editor) spell(rel string) error {
	fd, err := a.upper.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.EACCES) {
		fd, err = a.dir(a.upper, rel)
	}
	if err != nil {
		return fmt.Errorf("open directory %q in the layer: %w", rel, err)
	}
	opaque, err := marked(fd)
	if err == nil && opaque {
		err = a.unmark(rel)
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("directory %q: %w", rel, err)
	}
	subdirs, err := dirsIn(fd)
	unix.Close(fd)
	if err != nil {
		return fmt.Errorf("list directory %q: %w", rel, err)
	}
	for _, name := range subdirs {
		if sub := join(rel, name); len(sub) <= maxPath {
			if err := a.spell(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func dirsIn(fd int) ([]string, error) {
	all, err := list(fd)
	var out []string
	for _, name := range all {
		st, err := lstat(fd, name)
		if err != nil {
			return nil, err
		}
		if isDir(st) {
			out = append(out, name)
		}
	}
	return out, err
}

// unmark takes the opaque mark from one directory.
func (a *editor) unmark(rel string) error {
	up, err := a.dir(a.upper, rel)
	if err != nil {
		return err
	}
	defer unix.Close(up)
	low, err := a.host.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return removexattr(up, xattrOpaque) // it hides nothing
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EXDEV):
		return nil // nobody can say what it hides
	case err != nil:
		return err
	}
	defer unix.Close(low)
	all, err := list(low)
	if err != nil {
		return err
	}
	for _, name := range all {
		if err := a.hide(rel, up, low, name); err != nil {
			return err
		}
	}
	return removexattr(up, xattrOpaque)
}

// hide keeps one name of the host hidden without the mark of its directory.
func (a *editor) hide(rel string, up, low int, name string) error {
	inUpper, err := lstat(up, name)
	if err != nil {
		return err
	}
	onHost, err := lstat(low, name)
	if err != nil {
		return err
	}
	switch {
	case inUpper == nil:
		return whiteout(up, name)
	case isDir(inUpper) && isDir(onHost):
		sub, err := a.dir(a.upper, join(rel, name))
		if err != nil {
			return err
		}
		defer unix.Close(sub)
		return setxattr(sub, xattrOpaque, "y")
	}
	return nil
}
