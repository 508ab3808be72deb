package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Why says what makes a project's state stale.
type Why string

// The reasons, the strongest first.
const (
	Damaged  Why = "damaged"   // its record cannot be read
	RootGone Why = "root gone" // the root is no longer there
	Unused   Why = "unused"    // not used for longer than asked
)

// maxCounted bounds the files that are looked at to tell the size of a project.
const maxCounted = 200_000

// Stale is a project whose state could be removed.
type Stale struct {
	Key      string
	Root     string // "" when damaged
	Why      Why
	LastUsed time.Time
	Size     int64 // bytes on disk
	AtLeast  bool  // there is more than was counted
}

// GC lists the projects whose root is gone, and those not used for longer than
// olderThan where that is not zero; the longest unused first. It removes nothing
// but leftovers of killed processes. Projects in use are never listed.
func (d Dirs) GC(now time.Time, olderThan time.Duration) ([]Stale, error) {
	projects, err := d.openProjects(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(projects)
	if err := sweep(projects); err != nil {
		return nil, err
	}
	keys, err := allNames(projects)
	if err != nil {
		return nil, err
	}
	var stale []Stale
	for _, key := range keys {
		if s := judge(projects, key, now, olderThan); s != nil {
			s.Size, s.AtLeast = size(filepath.Join(d.State, "projects", key))
			stale = append(stale, *s)
		}
	}
	slices.SortFunc(stale, func(a, b Stale) int { return a.LastUsed.Compare(b.LastUsed) })
	return stale, nil
}

// judge returns nil for a project that is to be kept.
func judge(projects int, key string, now time.Time, olderThan time.Duration) *Stale {
	if !isKey(key) {
		return nil
	}
	fd, lock, err := seize(projects, key)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	defer unix.Close(lock)
	s := &Stale{Key: key, LastUsed: lastUsed(fd)}
	r, err := readRecord(fd)
	if err != nil {
		s.Why = Damaged
		return s
	}
	s.Root = r.Root
	_, err = os.Lstat(r.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR):
		s.Why = RootGone
	case olderThan > 0 && now.Sub(s.LastUsed) > olderThan:
		s.Why = Unused
	default:
		return nil
	}
	return s
}

// seize opens a project and locks out sessions. A project that lost its lock file
// is in nobody's use: sessions do not start without one.
func seize(projects int, key string) (fd, lock int, err error) {
	if fd, err = openDirAt(projects, key); err != nil {
		return -1, -1, err
	}
	lock, err = openAt(fd, lockName, unix.O_RDONLY|unix.O_CREAT, 0o600)
	if err == nil {
		if err = file.Lock(lock, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return fd, lock, nil
		}
		unix.Close(lock)
	}
	unix.Close(fd)
	return -1, -1, err
}

// lastUsed is the mtime of the record, or of the project when it has none.
func lastUsed(project int) time.Time {
	var st unix.Stat_t
	if unix.Fstatat(project, recordName, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		if unix.Fstat(project, &st) != nil {
			return time.Time{}
		}
	}
	return time.Unix(st.Mtim.Unix())
}

// size adds up what a tree takes on disk. It follows no symlink and skips what
// it may not read.
func size(dir string) (total int64, atLeast bool) {
	left := maxCounted
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if left--; left < 0 {
			atLeast = true
			return fs.SkipAll
		}
		var st unix.Stat_t
		if err != nil || unix.Lstat(path, &st) != nil {
			atLeast = true
			return nil
		}
		total += st.Blocks * 512
		return nil
	})
	return total, atLeast
}

// Remove deletes the state of a stale project. It refuses when a session has it,
// or used it since it was listed.
func (d Dirs) Remove(s Stale) error {
	if !isKey(s.Key) {
		return fmt.Errorf("%q is not the key of a project", s.Key)
	}
	projects, err := d.openProjects(false)
	if err != nil {
		return err
	}
	defer unix.Close(projects)
	gone, fd, err := retire(projects, s)
	if err != nil {
		return err
	}
	// Renamed, locked and no longer a project: what is left if we are
	// killed here, the next sweep removes.
	defer unix.Close(fd)
	step("retired")
	if err := removeTree(projects, gone); err != nil {
		return fmt.Errorf("state of project %q: %w", s.Root, err)
	}
	return nil
}

// retire turns a project into a scratch directory that is locked by us.
func retire(projects int, s Stale) (name string, fd int, err error) {
	fd, lock, err := seize(projects, s.Key)
	if err == unix.EWOULDBLOCK {
		return "", -1, fault.New(fault.Refused, "end the session first, see `ringfence ps`", "project %q is in use", s.Root)
	}
	if err != nil {
		return "", -1, fmt.Errorf("state of project %q: %w", s.Root, err)
	}
	defer unix.Close(lock)
	name = scratchPrefix + NewID()
	switch {
	case !lastUsed(fd).Equal(s.LastUsed):
		err = fault.New(fault.Refused, "list it again: ringfence gc", "project %q was used since it was listed", s.Root)
	default:
		if err = file.Lock(fd, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			err = unix.Renameat(projects, s.Key, projects, name)
		}
	}
	if err != nil {
		unix.Close(fd)
		return "", -1, err
	}
	return name, fd, nil
}
