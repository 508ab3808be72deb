package overlay

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

// The marks that overlayfs leaves with the option userxattr. Others (origin, impure,
// nlink, uuid) say nothing about what is in a directory.
const (
	xattrOpaque   = "user.overlay.opaque"
	xattrWhiteout = "user.overlay.whiteout"
	xattrOrigin   = "user.overlay.origin"
)

// foreign marks mean that content is elsewhere. Our mounts never make them.
var foreign = []string{"user.overlay.redirect", "user.overlay.metacopy"}

// entry is one name that the layer says something about.
type entry struct {
	path  string
	up    *unix.Stat_t // in the layer; nil: it is gone there
	low   *unix.Stat_t // on the host; nil: it is not there
	white bool         // gone by a whiteout of its own
	deep  bool         // its path is too long to be worked on
}

// walk visits all that the layer says, directories before what is in them: every
// entry in it, changed or not, and every entry of the host that it hides.
func (s *sides) walk(visit func(entry) error) error {
	w := &walker{sides: s, visit: visit}
	return w.dir(".", true, s.l.Copy)
}

type walker struct {
	*sides
	visit func(entry) error
}

// dir visits what is in a directory of the layer. lower: the host has it as a
// directory, too. opaque: nothing of that shines through.
func (w *walker) dir(rel string, lower, opaque bool) error {
	up, err := w.upper.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open directory %q in the layer: %w", rel, err)
	}
	defer func() { unix.Close(up) }()
	if !w.l.Copy {
		mark, err := marked(up)
		if err != nil {
			return fmt.Errorf("directory %q: %w", rel, err)
		}
		opaque = opaque || mark
	}
	low := -1
	if lower {
		if low, err = w.hostDir(rel); err != nil {
			return err
		}
		defer func() { closeIf(low) }()
	}
	entries, err := w.entries(rel, up, low, opaque)
	if err != nil {
		return fmt.Errorf("list directory %q: %w", rel, err)
	}
	// Descriptors are not held on the way down: the agent says how deep that is.
	unix.Close(up)
	closeIf(low)
	up, low = -1, -1
	for _, e := range entries {
		if err := w.enter(e, opaque); err != nil {
			return err
		}
	}
	return nil
}

func closeIf(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

// hostDir opens a directory of the host, or returns -1 if it cannot be had.
func (w *walker) hostDir(rel string) (int, error) {
	fd, err := w.host.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	switch {
	case errors.Is(err, unix.EACCES):
		return w.host.open(rel, unix.O_PATH|unix.O_DIRECTORY)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP):
		return -1, nil
	case err != nil:
		return -1, fmt.Errorf("open directory %q on the host: %w", rel, err)
	}
	return fd, nil
}

// entries reads both sides of one directory.
func (w *walker) entries(rel string, up, low int, opaque bool) ([]entry, error) {
	inUpper, err := list(up)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, name := range inUpper {
		e := entry{path: join(rel, name)}
		if e.up, err = w.upperStat(up, name); err != nil {
			return nil, err
		}
		if low >= 0 {
			if e.low, err = lstat(low, name); err != nil {
				return nil, err
			}
		}
		if e.up != nil && !w.l.Copy && isWhiteout(up, name, e.up) {
			e.up, e.white = nil, true
		}
		e.deep = len(e.path) > maxPath
		out = append(out, e)
	}
	if !opaque || low < 0 {
		return out, nil
	}
	onHost, err := list(low)
	if err != nil {
		return nil, err
	}
	for _, name := range onHost {
		if _, ok := slices.BinarySearch(inUpper, name); ok {
			continue
		}
		e := entry{path: join(rel, name), deep: len(rel)+len(name) >= maxPath}
		if e.low, err = lstat(low, name); err != nil {
			return nil, err
		}
		if e.low != nil && !w.newOnHost(low, name, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

// list lists a directory that stays open. One that may not be listed is empty.
func list(dir int) ([]string, error) {
	fd, err := at(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, unix.EACCES) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return sys.Names(fd)
}

// upperStat reads an entry of the layer, and lets the owner read it.
func (w *walker) upperStat(dir int, name string) (*unix.Stat_t, error) {
	st, err := lstat(dir, name)
	if err != nil || st == nil || w.reversed || unix.Geteuid() == 0 || int(st.Uid) != unix.Geteuid() {
		return st, err
	}
	need := uint32(0)
	switch typeOf(st) {
	case change.Directory:
		need = 0o700
		if st.Mode&0o500 == 0o500 {
			need = 0
		}
	case change.File:
		need = 0o400
	}
	if st.Mode&need == need {
		return st, nil
	}
	fd, err := at(dir, name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := chmod(fd, st.Mode&0o7777|need); err != nil {
		return nil, err
	}
	return lstat(dir, name)
}

// enter visits an entry and what is in it.
func (w *walker) enter(e entry, opaque bool) error {
	if w.untouched(e) && !isDir(e.up) {
		return nil
	}
	switch {
	case e.up == nil && e.low == nil && !e.white:
		return nil
	case isDir(e.up) && !e.deep:
		return w.enterDir(e, opaque)
	}
	if err := w.visit(e); err != nil {
		return err
	}
	if isDir(e.low) && !e.deep {
		return w.hidden(e.path)
	}
	return nil
}

// enterDir visits a directory of the layer. One that only the host's hand made
// differ, in a copy, is passed over unless the session left something in it.
func (w *walker) enterDir(e entry, opaque bool) error {
	lower := isDir(e.low)
	if !w.untouched(e) {
		if err := w.visit(e); err != nil {
			return err
		}
		return w.dir(e.path, lower, opaque)
	}
	told := lower
	quiet := &walker{sides: w.sides, visit: func(inner entry) error {
		if !told {
			told = true
			if err := w.visit(e); err != nil {
				return err
			}
		}
		return w.visit(inner)
	}}
	return quiet.dir(e.path, lower, opaque)
}

// hidden visits what is in a directory of the host that the layer hides.
func (w *walker) hidden(rel string) error {
	fd, err := w.hostDir(rel)
	if err != nil || fd < 0 {
		return err
	}
	entries, err := w.hiddenIn(rel, fd)
	unix.Close(fd)
	if err != nil {
		return fmt.Errorf("list directory %q on the host: %w", rel, err)
	}
	for _, e := range entries {
		if err := w.visit(e); err != nil {
			return err
		}
		if isDir(e.low) && !e.deep {
			if err := w.hidden(e.path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walker) hiddenIn(rel string, dir int) ([]entry, error) {
	all, err := list(dir)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, name := range all {
		e := entry{path: join(rel, name), deep: len(rel)+len(name) >= maxPath}
		if e.low, err = lstat(dir, name); err != nil {
			return nil, err
		}
		if e.low != nil && !w.newOnHost(dir, name, e) {
			out = append(out, e)
		}
	}
	return out, nil
}

// untouched reports whether an entry of a copy is as it was copied: whatever
// differs then, the host changed it.
func (w *walker) untouched(e entry) bool {
	return w.l.Copy && !w.reversed && e.up != nil && !after(e.up.Ctim, w.l.Since)
}

// newOnHost reports whether something that a copy does not have came to the host
// after the copy was made, or never goes into one.
func (w *walker) newOnHost(dir int, name string, e entry) bool {
	if !w.l.Copy || w.reversed {
		return false
	}
	if typeOf(e.low) == change.Special {
		return true
	}
	if w.l.Base != nil {
		if _, known := w.l.Base(e.path); known {
			return false
		}
	}
	var st unix.Statx_t
	if err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return false
	}
	return after(unix.Timespec{Sec: st.Btime.Sec, Nsec: int64(st.Btime.Nsec)}, w.l.Since)
}

// isWhiteout reports whether an entry of the layer stands for "gone".
func isWhiteout(dir int, name string, st *unix.Stat_t) bool {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFCHR:
		return st.Rdev == 0
	case unix.S_IFREG:
		if st.Size != 0 {
			return false
		}
		_, err := unix.Lgetxattr(sys.ByDescriptor(dir)+"/"+name, xattrWhiteout, nil)
		return err == nil
	}
	return false
}

// marked reports whether a directory of the layer is opaque.
func marked(fd int) (bool, error) {
	if n, err := unix.Flistxattr(fd, nil); err == nil && n == 0 {
		return false, nil // as nearly always: one call instead of three
	}
	for _, name := range foreign {
		if _, err := unix.Fgetxattr(fd, name, nil); err == nil {
			return false, fmt.Errorf("it has the mark %s, which no mount of ringfence makes", name)
		}
	}
	value := make([]byte, 8)
	n, err := unix.Fgetxattr(fd, xattrOpaque, value)
	return err == nil && string(value[:n]) == "y", nil
}

// refuseForeign refuses a file whose content is not its own.
func (s *sides) refuseForeign(fd int) error {
	if s.l.Copy {
		return nil
	}
	_, err := marked(fd)
	return err
}
