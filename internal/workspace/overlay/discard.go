package overlay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Discard forgets all that waits, or with paths what waits at or below them. The
// host is not touched. The session must be over.
func (l *Layer) Discard(paths []string) error {
	s, err := l.open()
	if err != nil {
		return err
	}
	defer s.close()
	a := &applier{editor: editor{sides: s, modes: map[place]uint32{}}, paths: paths}
	switch {
	case l.Copy:
		err = a.copyBack()
	case paths == nil:
		err = a.wipe()
	default:
		err = a.discard()
	}
	if err != nil {
		return fmt.Errorf("discard from the layer of %q: %w", l.Root, err)
	}
	return nil
}

// copyBack makes a full copy equal to the host again: it is an apply the other way
// round that nothing can be in conflict with.
func (a *applier) copyBack() error {
	back := *a.l
	back.Root, back.Upper, back.Base = a.l.Upper, a.l.Root, nil
	a.l, a.host, a.upper = &back, a.upper, a.host
	defer func() { a.host, a.upper = a.upper, a.host }()
	a.force, a.reversed = true, true
	_, err := a.work(nil)
	return err
}

func (a *applier) discard() error {
	if err := a.spellOut(); err != nil {
		return err
	}
	if err := a.collect(); err != nil {
		return err
	}
	a.selectWanted()
	for _, it := range a.items {
		if it.selected && it.up == nil && !it.white {
			if err := a.unhide(dirOf(it.path)); err != nil {
				return fmt.Errorf("bring back %q: %w", it.path, err)
			}
		}
	}
	for _, it := range slices.Backward(a.items) {
		if it.selected {
			if err := a.drop(it); err != nil {
				return err
			}
		}
	}
	return a.relock()
}

// drop forgets one change. Whatever was in a directory went before it.
func (a *applier) drop(it *item) error {
	switch {
	case it.up != nil && !isDir(it.up) || it.up == nil:
		st, err := a.stat(it.path)
		if err != nil || st == nil || isDir(st) {
			return err // it was hidden by what was above it
		}
		return a.forget(it.path, 0)
	case isDir(it.low):
		fd, err := a.upper.open(it.path, unix.O_PATH)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		delete(a.modes, place{sideUpper, it.path})
		return chmod(fd, it.low.Mode&0o7777)
	}
	return a.forget(it.path, unix.AT_REMOVEDIR)
}

// stat reads an entry of the layer.
func (a *editor) stat(rel string) (*unix.Stat_t, error) {
	dir, err := a.upper.open(dirOf(rel), unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	return lstat(dir, base(rel))
}

// unhide sees to it that a directory of the host, which the layer hides, is there
// again with all that is in it hidden one by one.
func (a *applier) unhide(rel string) error {
	for end := 0; end < len(rel) && rel != "."; end++ {
		if i := strings.IndexByte(rel[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(rel)
		}
		if on, err := a.unhideOne(rel[:end]); err != nil || !on {
			return err
		}
	}
	return nil
}

// unhideOne takes one step of the way down, and says whether there is more to do.
func (a *applier) unhideOne(rel string) (on bool, err error) {
	dir, err := a.dir(a.upper, dirOf(rel))
	if err != nil {
		return false, err
	}
	defer unix.Close(dir)
	st, err := lstat(dir, base(rel))
	if err != nil || st == nil || isDir(st) {
		return st != nil, err
	}
	if it := a.at[rel]; it != nil && it.selected {
		return false, nil // all of it comes back
	}
	if !isWhiteout(dir, base(rel), st) {
		return false, fmt.Errorf("%q is no directory in the layer: discard that", rel)
	}
	return true, a.openUp(dir, rel)
}

// openUp replaces the whiteout of a directory by a directory of whiteouts.
func (a *editor) openUp(dir int, rel string) error {
	low, err := a.host.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(low)
	var st unix.Stat_t
	if err := unix.Fstat(low, &st); err != nil {
		return err
	}
	temp := newTemp()
	if err := mkdir(dir, temp); err != nil {
		return err
	}
	made, err := at(dir, temp, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(made)
	all, err := list(low)
	for i := 0; i < len(all) && err == nil; i++ {
		err = whiteout(made, all[i])
	}
	if err == nil {
		err = chmod(made, st.Mode&0o7777)
	}
	if err == nil {
		err = rename(dir, temp, base(rel), unix.RENAME_EXCHANGE)
	}
	if err != nil {
		return err
	}
	return unlink(dir, temp, 0)
}

// wipe empties the layer. Directories that are nested too deep for a path are
// moved up, and emptied there.
func (a *editor) wipe() error {
	for waiting := []string{"."}; len(waiting) > 0; {
		rel := waiting[0]
		deeper, err := a.wipeDir(rel)
		if err != nil {
			return err
		}
		if waiting = append(waiting[1:], deeper...); rel != "." {
			if err := a.forget(rel, unix.AT_REMOVEDIR); err != nil {
				return err
			}
		}
	}
	return nil
}

// wipeDir empties a directory and returns what it moved to the root of the layer.
func (a *editor) wipeDir(rel string) (moved []string, err error) {
	dir, err := a.dir(a.upper, rel)
	if err != nil {
		return nil, fmt.Errorf("open directory %q: %w", rel, err)
	}
	all, err := list(dir)
	var subdirs []string
	for i := 0; i < len(all) && err == nil; i++ {
		if err = unlink(dir, all[i], 0); errors.Is(err, unix.EISDIR) {
			subdirs, err = append(subdirs, all[i]), nil
		}
	}
	unix.Close(dir)
	if err != nil {
		return nil, fmt.Errorf("empty directory %q: %w", rel, err)
	}
	for _, name := range subdirs {
		sub := join(rel, name)
		if len(sub) > maxPath/2 {
			temp, err := a.moveUp(sub)
			if err != nil {
				return nil, fmt.Errorf("move directory %q: %w", sub, err)
			}
			moved = append(moved, temp)
			continue
		}
		deeper, err := a.wipeDir(sub)
		if err == nil {
			err = a.forget(sub, unix.AT_REMOVEDIR)
		}
		if err != nil {
			return nil, err
		}
		moved = append(moved, deeper...)
	}
	return moved, nil
}

func (a *editor) moveUp(rel string) (string, error) {
	sub, err := a.dir(a.upper, rel) // a directory that moves must be writable
	if err != nil {
		return "", err
	}
	unix.Close(sub)
	dir, err := a.dir(a.upper, dirOf(rel))
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	temp := newTemp()
	beforeWrite()
	return temp, unix.Renameat(dir, base(rel), a.upper.fd, temp)
}
