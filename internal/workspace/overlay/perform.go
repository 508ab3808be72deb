package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// errMoved is about a path that is not as it was judged.
var errMoved = errors.New("changed on the host just now")

// errSwapped is about a file of the layer that is not as it was judged.
var errSwapped = errors.New("changed since it was shown")

// The stages, in the order of the work. A kill in between leaves files that are not
// used yet rather than uses of files that are not there.
const (
	stageDirs     = iota // parents first
	stageObjects         // what git's references need
	stageFiles           // all other files
	stageRefs            // git's references
	stageHeads           // and what says which of them counts
	stageLinks           // symbolic links
	stageRemovals        // children first
	stageReplaced        // what takes the place of a directory
	stageModes           // modes of directories, children first
	stageCount
)

func (a *applier) stage(it *item) int {
	switch {
	case it.act == remove:
		return stageRemovals
	case isDir(it.low) && it.act == setMode:
		return stageModes
	case isDir(it.low):
		return stageReplaced
	case it.act == makeDir:
		return stageDirs
	case it.act == makeLink:
		return stageLinks
	}
	return a.l.gitStage(it.path)
}

// gitStage is the stage of a file, which in a git directory depends on its place.
// The git directories of submodules and worktrees are in that of their repository.
func (l *Layer) gitStage(rel string) int {
	dir, inside := l.inGit(rel)
	if dir == "" {
		return stageFiles
	}
	for part := range strings.SplitSeq(inside, "/") {
		switch part {
		case "objects":
			return stageObjects
		case "refs":
			return stageRefs
		case "logs":
			return stageFiles
		}
	}
	switch base(inside) {
	case "HEAD":
		return stageHeads
	case "packed-refs":
		return stageRefs
	}
	return stageFiles
}

// perform does what was decided, stage by stage.
func (a *applier) perform() error {
	stages := make([][]*item, stageCount)
	for _, it := range a.items {
		n := a.stage(it)
		switch {
		case it.selected && it.act != nothing:
			stages[n] = append(stages[n], it)
		case it.outcome == Conflict && n == stageObjects:
			dir, _ := a.l.inGit(it.path)
			a.broken[dir] = true
		}
	}
	for n, items := range stages {
		if n == stageRemovals || n == stageModes {
			slices.SortFunc(items, func(x, y *item) int { return cmp.Compare(y.path, x.path) })
		}
		if err := a.performStage(n, items); err != nil {
			return err
		}
	}
	return nil
}

func (a *applier) performStage(n int, items []*item) error {
	if err := a.announce(items); err != nil {
		return err
	}
	for _, it := range items {
		if a.l.Step != nil {
			a.l.Step()
		}
		dir, _ := a.l.inGit(it.path)
		if a.broken[dir] && n >= stageRefs && n <= stageHeads {
			it.fail("an object of its repository was not brought over")
			continue
		}
		if it.to != nil && !it.to.done {
			it.fail("what it was renamed to was not brought over")
			continue
		}
		err := a.do(it)
		why, alone := hindrance(err)
		switch {
		case err == nil:
			it.succeed(Applied)
			a.dirty[dirOf(it.path)] = true
		case errors.Is(err, errMoved), errors.Is(err, errSwapped):
			it.fail("%v", err)
		case alone:
			it.fail("%s (%v)", why, err)
		default:
			return errors.Join(fmt.Errorf("%q: %w", it.path, err), a.syncHost())
		}
		if it.outcome == Conflict && n == stageObjects {
			a.broken[dir] = true
		}
	}
	return a.syncHost()
}

// announce logs what a stage will do, with the temporary names that it will use.
func (a *applier) announce(items []*item) error {
	var records []record
	for _, it := range items {
		r := record{Op: opBegin, Side: sideHost, Path: []byte(it.path)}
		if it.act != remove && it.act != setMode && (it.act != makeDir || it.low != nil) {
			it.temp = newTemp()
			r.Temp = it.temp
			if it.low != nil {
				r.Ino = it.low.Ino
			}
		}
		records = append(records, r)
	}
	return a.log.add(records...)
}

// syncHost makes new names on the host last.
func (a *applier) syncHost() error {
	for rel := range a.dirty {
		fd, err := a.host.open(rel, unix.O_RDONLY|unix.O_DIRECTORY)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
			continue
		}
		if err != nil {
			return fmt.Errorf("sync %q: %w", rel, err)
		}
		err = fsync(fd)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("sync %q: %w", rel, err)
		}
	}
	clear(a.dirty)
	return nil
}

// do brings one change to the host.
func (a *applier) do(it *item) error {
	dir, err := a.dir(a.host, dirOf(it.path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	t := &target{dir: dir, name: base(it.path), temp: it.temp, was: it.low}
	switch it.act {
	case makeDir:
		return a.makeDir(it, t)
	case setMode:
		return a.setMode(it, t)
	case remove:
		if err := t.unmoved(); err != nil {
			return err
		}
		flags := 0
		if isDir(it.low) {
			flags = unix.AT_REMOVEDIR
		}
		return unlink(dir, t.name, flags)
	case makeLink:
		return t.write(func() error {
			if err := symlink(dir, t.temp, it.change.New.Link); err != nil {
				return err
			}
			return errors.Join(own(dir, t.temp, it.up, unix.AT_SYMLINK_NOFOLLOW), setTime(dir, t.temp, it.up, unix.AT_SYMLINK_NOFOLLOW))
		})
	case mergeFile:
		return a.writeMerged(it, t)
	}
	return t.write(func() error { return fill(a.upper, it.path, it.change.New.Hash, t, it.up, a.mode(it)) })
}

// mode is the mode that a change has on the host: a file gets no setuid, setgid or
// sticky bit.
func (a *applier) mode(it *item) uint32 {
	mode := it.change.New.Mode
	if it.change.New.Type == change.File && mode&0o7000 != 0 && !a.force {
		it.why = "without its setuid, setgid or sticky bit"
		mode &= 0o777
	}
	return mode
}

func (a *applier) makeDir(it *item, t *target) error {
	set := func(name string) error {
		fd, err := at(t.dir, name, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := own(fd, "", it.up, unix.AT_EMPTY_PATH); err != nil {
			return err
		}
		mode := it.change.New.Mode
		if err := a.lockAtEnd(sideHost, it.path, mode); err != nil {
			return err
		}
		return chmod(fd, mode|0o700)
	}
	if it.low != nil {
		return t.write(func() error {
			if err := mkdir(t.dir, t.temp); err != nil {
				return err
			}
			return set(t.temp)
		})
	}
	if err := mkdir(t.dir, t.name); err != nil {
		return err
	}
	return set(t.name)
}

func (a *applier) setMode(it *item, t *target) error {
	fd, err := at(t.dir, t.name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Ino != it.low.Ino || typeOf(&st) != typeOf(it.low) {
		return errMoved
	}
	mode := a.mode(it)
	if isDir(it.low) {
		if _, locked := a.locks()[place{sideHost, it.path}]; locked || mode&0o700 != 0o700 {
			return a.lockAtEnd(sideHost, it.path, mode)
		}
	}
	return chmod(fd, mode)
}

func (a *applier) writeMerged(it *item, t *target) error {
	text, ok, err := a.merge(it)
	if err != nil {
		return err
	}
	if !ok {
		return errMoved
	}
	sum := hashOf(text)
	r := record{Op: opMerge, Side: sideHost, Path: []byte(it.path), Was: it.change.New.Hash, Hash: sum}
	if err := a.log.add(r); err != nil {
		return err
	}
	err = t.write(func() error { return fillText(text, t, it.up, a.mode(it)) })
	if err == nil {
		it.succeed(Merged)
	}
	return err
}
