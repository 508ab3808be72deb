package overlay

import (
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// goneOnHost reports whether something that the host does not have was there when
// the session began.
//
// Base may know. Else overlayfs left a trace: what it copied from the host carries
// the mark of an origin. A file that was moved inside carries it, too; but then the
// layer hides the file that it was, or the host's directory is as it was before. In
// doubt it was moved: the host gets a file more, and loses none.
func (a *applier) goneOnHost(it *item) bool {
	if a.force {
		return false
	}
	if _, known := a.base(it.path); known && it.change.New.Type == change.File {
		return true
	}
	switch {
	case a.l.Copy || !a.hasOrigin(&it.entry):
		return false
	case isDir(it.up):
		return true // a directory of the host cannot be moved, only copied
	}
	return !a.moved(it)
}

// moved reports whether a file with an origin can have come from elsewhere.
func (a *applier) moved(it *item) bool {
	if it.up.Nlink > 1 || a.moves {
		return true
	}
	fd, err := a.host.open(dirOf(it.path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return true // the directory is the session's own, or in the way itself
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	return err == nil && !after(st.Mtim, a.l.Since)
}

// settleMoves finds out whether the layer hides any file of the host that another
// one can have been before. Moved files that will wait on lose their mark: what
// tells that they were moved may be gone the next time.
func (a *applier) settleMoves() {
	hidden := func(e *entry) bool {
		return e.white || e.low != nil && typeOf(e.low) == change.File && (e.up == nil || !a.hasOrigin(e))
	}
	a.moves = slices.ContainsFunc(a.idle, func(e entry) bool { return e.white }) ||
		slices.ContainsFunc(a.items, func(it *item) bool { return hidden(&it.entry) })
	if a.l.Copy {
		return
	}
	for _, it := range a.items {
		waits := !it.selected || it.outcome != ""
		if waits && it.low == nil && it.up != nil && !isDir(it.up) && a.hasOrigin(&it.entry) && a.moved(it) {
			a.forgetOrigin(it.path)
		}
	}
}

// hasOrigin reports whether overlayfs copied an entry of the layer from the host.
func (a *editor) hasOrigin(e *entry) bool {
	if a.l.Copy || e.deep || e.up == nil || typeOf(e.up) != change.File && !isDir(e.up) {
		return false
	}
	fd, err := a.upper.open(e.path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	_, err = unix.Fgetxattr(fd, xattrOrigin, nil)
	return err == nil
}

// forgetOrigin takes the mark away. Where that is not permitted, a later apply may
// find a conflict that is none.
func (a *editor) forgetOrigin(rel string) {
	if fd, err := a.upper.open(rel, unix.O_RDONLY|unix.O_NONBLOCK); err == nil {
		removexattr(fd, xattrOrigin)
		unix.Close(fd)
	}
}
