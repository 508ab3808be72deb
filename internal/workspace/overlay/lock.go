package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// An ordinary user cannot write in a directory of his own that has no permission
// for that. Such a directory is unlocked for the time of the run: the log knows the
// mode that it has to have at the end.

// locks returns the modes that directories have to have at the end.
func (a *editor) locks() map[place]uint32 {
	if a.log == nil {
		return a.modes
	}
	return a.log.modes
}

// lockAtEnd sees to the mode of a directory at the end. A directory that stays
// writable needs no record.
func (a *editor) lockAtEnd(side, rel string, mode uint32) error {
	at := place{side, rel}
	if _, ok := a.locks()[at]; !ok && mode&0o700 == 0o700 {
		return nil
	}
	a.locks()[at] = mode
	return a.log.add(record{Op: opMode, Side: side, Path: []byte(rel), Mode: mode})
}

func (a *editor) side(t *tree) string {
	if t == a.upper {
		return sideUpper
	}
	return sideHost
}

// dir opens a directory to work in, and unlocks it.
func (a *editor) dir(t *tree, rel string) (int, error) {
	fd, err := t.open(rel, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.EACCES) && rel != "." {
		up, err := a.dir(t, dirOf(rel))
		if err != nil {
			return -1, err
		}
		defer unix.Close(up)
		fd, err = at(up, base(rel), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return -1, err
		}
	} else if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	if err := a.unlock(a.side(t), rel, fd); err != nil {
		return -1, err
	}
	return at(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY)
}

func (a *editor) unlock(side, rel string, fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if unix.Geteuid() == 0 || int(st.Uid) != unix.Geteuid() || st.Mode&0o700 == 0o700 {
		return nil
	}
	if _, ok := a.locks()[place{side, rel}]; !ok {
		if err := a.lockAtEnd(side, rel, st.Mode&0o7777); err != nil {
			return err
		}
	}
	return chmod(fd, st.Mode&0o7777|0o700)
}

// relock gives all directories the modes they have to have, children first.
func (a *editor) relock() error {
	all := slices.SortedFunc(maps.Keys(a.locks()), func(x, y place) int { return -compare(x, y) })
	for _, p := range all {
		t := a.host
		if p.side == sideUpper {
			t = a.upper
		}
		fd, err := t.open(p.path, unix.O_PATH|unix.O_DIRECTORY)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			continue
		}
		if err == nil {
			err = chmod(fd, a.locks()[p])
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("mode of directory %q: %w", p.path, err)
		}
	}
	return nil
}

func compare(x, y place) int {
	return cmp.Or(strings.Compare(x.side, y.side), strings.Compare(x.path, y.path))
}

// recover undoes what an interrupted run left: temporary names, and modes of
// directories that were only for its own time.
func (a *editor) recover() error {
	for _, r := range a.log.temps {
		t := a.host
		if r.Side == sideUpper {
			t = a.upper
		}
		dir, err := a.dir(t, dirOf(string(r.Path)))
		if err != nil {
			if _, alone := hindrance(err); alone {
				continue // then there is nothing of ours in it
			}
			return err
		}
		err = dropTemp(dir, r.Temp, base(string(r.Path)), r.Ino)
		unix.Close(dir)
		if err != nil && !errors.Is(err, unix.ENOTEMPTY) {
			return fmt.Errorf("remove %q next to %q: %w", r.Temp, r.Path, err)
		}
	}
	if err := a.relock(); err != nil {
		return err
	}
	clear(a.log.modes)
	return nil
}
