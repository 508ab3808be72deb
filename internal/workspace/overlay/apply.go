package overlay

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// Apply brings changes to the host: all, or with paths those at or below them, and
// the directories that they need. said is what Changes returned when a person saw
// it: what is not as it was then is refused; nil takes all as it is. The session
// must be over.
//
// log is a file that remembers what was begun. After an interruption the same call
// finishes the work; at the end of a complete run the log is gone. An error means
// that the run was not complete: what was done until then is in the results.
func (l *Layer) Apply(log string, paths []string, said []change.Change) ([]Result, error) {
	s, err := l.open()
	if err != nil {
		return nil, err
	}
	defer s.close()
	j, err := openLog(log, l)
	if err != nil {
		return nil, err
	}
	defer j.close()
	a := &applier{editor: editor{sides: s, log: j}, paths: paths}
	results, err := a.run(said)
	if err != nil {
		return results, fmt.Errorf("apply the layer of %q: %w", l.Root, err)
	}
	return results, j.remove()
}

// Refusals says what Apply could not bring over as the host is now, and brings nothing
// over. It ends what an interrupted Apply left half done.
func (l *Layer) Refusals(log string, paths []string, said []change.Change) ([]Result, error) {
	s, err := l.open()
	if err != nil {
		return nil, err
	}
	defer s.close()
	j, err := openLog(log, l)
	if err != nil {
		return nil, err
	}
	defer j.close()
	fresh := len(j.begun)+len(j.temps)+len(j.modes)+len(j.merge) == 0
	a := &applier{editor: editor{sides: s, log: j}, paths: paths, trial: true}
	results, err := a.run(said)
	if err != nil {
		return nil, fmt.Errorf("try the layer of %q: %w", l.Root, err)
	}
	results = slices.DeleteFunc(results, func(r Result) bool { return r.Outcome != Conflict })
	if fresh {
		err = j.remove()
	}
	return results, err
}

// applier is one run of Apply.
type applier struct {
	editor
	trial bool     // nothing is brought over
	paths []string // what was asked for; nil: all

	items []*item // every change, sorted by path
	at    map[string]*item
	idle  []entry // entries of the layer that change nothing
	dirs  []entry // directories of the layer, parents first

	moves  bool            // the layer hides a file that may have been moved
	broken map[string]bool // git directories whose objects are not all there
	dirty  map[string]bool // directories of the host with new names
	force  bool            // whatever the host has is overwritten
}

// editor changes both sides, also in directories that are locked, and locks those again.
type editor struct {
	*sides
	log   *journal
	modes map[place]uint32 // what the log knows of modes, where there is no log
}

// item is one change and what becomes of it.
type item struct {
	entry
	change   change.Change
	from     *item // of a rename: the deletion that belongs to it
	to       *item // of such a deletion: the rename
	selected bool
	act      action
	temp     string
	outcome  Outcome // "": not decided yet
	why      string
	done     bool // the host has it: the layer need not keep it
}

// action is what has to be done on the host.
type action int

const (
	nothing action = iota
	makeDir
	writeFile
	mergeFile
	setMode
	makeLink
	remove
)

func (it *item) fail(format string, args ...any) {
	if it.outcome == Conflict {
		return
	}
	it.outcome, it.act, it.done = Conflict, nothing, false
	it.why = fmt.Sprintf(format, args...)
}

func (it *item) succeed(o Outcome) {
	it.done = true
	if it.outcome == "" {
		it.outcome = o
	}
}

func (a *applier) run(said []change.Change) ([]Result, error) {
	if err := a.recover(); err != nil {
		return nil, fmt.Errorf("clean up after an interruption: %w", err)
	}
	return a.work(said)
}

func (a *applier) work(said []change.Change) ([]Result, error) {
	if err := a.spellOut(); err != nil {
		return nil, err
	}
	if err := a.collect(); err != nil {
		return nil, err
	}
	a.choose(said)
	if err := a.judgeAll(); err != nil {
		return nil, err
	}
	if a.trial {
		return a.results(said), a.relock()
	}
	err := a.perform()
	if settled := a.settle(); err == nil {
		err = settled
	}
	if locked := a.relock(); err == nil {
		err = locked
	}
	return a.results(said), err
}

// collect reads the layer.
func (a *applier) collect() error {
	a.at, a.broken, a.dirty = map[string]*item{}, map[string]bool{}, map[string]bool{}
	err := a.walk(func(e entry) error {
		if isDir(e.up) {
			a.dirs = append(a.dirs, e)
		}
		c, differs, err := a.compare(e)
		switch {
		case err != nil:
			return err
		case differs:
			it := &item{entry: e, change: c}
			a.items = append(a.items, it)
			a.at[e.path] = it
		case !isDir(e.up):
			a.idle = append(a.idle, e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(a.items, func(x, y *item) int { return change.Compare(x.change, y.change) })
	a.pair()
	return nil
}

// pair finds the renames: their two halves are chosen and reported as one.
func (a *applier) pair() {
	all := make([]change.Change, len(a.items))
	for i, it := range a.items {
		all[i] = it.change
	}
	for _, c := range foldRenames(all) {
		if c.From != "" {
			it := a.at[c.Path]
			it.from = a.at[c.From]
			it.from.to = it
		}
	}
}

func (a *applier) wanted(rel string) bool {
	return a.paths == nil || slices.ContainsFunc(a.paths, func(p string) bool {
		return p != "" && below(rel, path.Clean(p))
	})
}

// selectWanted selects what was asked for.
func (a *applier) selectWanted() {
	for _, it := range a.items {
		if !a.wanted(it.path) {
			continue
		}
		for _, half := range []*item{it, it.from, it.to} {
			if half != nil {
				half.selected = true
			}
		}
	}
}

// choose selects what was asked for and needed, and refuses what was not shown.
func (a *applier) choose(said []change.Change) {
	a.selectWanted()
	for _, it := range a.items {
		for dir := dirOf(it.path); it.selected && it.change.New != nil && dir != "."; dir = dirOf(dir) {
			// What a directory is needed for brings the directory, not its mode.
			if up := a.at[dir]; up != nil && !isDir(up.low) {
				up.selected = true
			}
		}
	}
	if said == nil {
		return
	}
	shown := showing(said)
	for _, it := range a.items {
		if node, ok := shown[it.path]; it.selected && (!ok || !equal(node, it.change.New)) {
			it.fail("changed since it was shown")
		}
	}
}

// showing takes renames apart again: what each path was said to become.
func showing(said []change.Change) map[string]*change.Node {
	out := map[string]*change.Node{}
	for _, c := range said {
		if c.From != "" {
			out[c.From] = nil
		}
	}
	for _, c := range said {
		out[c.Path] = c.New
	}
	return out
}

// results reports one outcome for every change that was chosen, and what the host
// had already: by its own hand, or by an interrupted run.
func (a *applier) results(said []change.Change) []Result {
	var out []Result
	for _, it := range a.items {
		if !it.selected || it.outcome == "" || it.to != nil {
			continue
		}
		r := Result{Path: it.path, Outcome: it.outcome, Why: it.why}
		if it.from != nil && it.from.outcome == Conflict && it.outcome != Conflict {
			r.Outcome, r.Why = Conflict, fmt.Sprintf("it is there, but %q is not deleted: %s", it.from.path, it.from.why)
		}
		out = append(out, r)
	}
	shown := showing(said)
	for _, e := range a.idle {
		_, ok := shown[e.path]
		switch {
		case !a.wanted(e.path):
		case a.log != nil && a.log.begun[e.path]:
			out = append(out, Result{Path: e.path, Outcome: Applied, Why: "before an interruption"})
		case ok, e.low == nil, a.l.touched(e.low):
			out = append(out, Result{Path: e.path, Outcome: Same})
		}
	}
	slices.SortFunc(out, func(x, y Result) int { return strings.Compare(x.Path, y.Path) })
	return out
}

// hindrance says why a path cannot be brought over, if err is about that path
// alone. Everything else (no room, a broken disk) ends the run.
func hindrance(err error) (why string, ok bool) {
	for _, h := range []struct {
		code unix.Errno
		why  string
	}{
		{unix.EBUSY, "a mount is there"},
		{unix.EXDEV, "a mount is there"},
		{unix.ELOOP, "a symbolic link is in its path"},
		{unix.ENOTDIR, "its directory is not one on the host"},
		{unix.ENOENT, "its directory is not on the host"},
		{unix.EEXIST, "the host has it now, too"},
		{unix.EISDIR, "a directory is there now"},
		{unix.ENOTEMPTY, "the host has something in it that stays"},
		{unix.EACCES, "the host does not permit it"},
		{unix.EPERM, "the host does not permit it"},
		{unix.ETXTBSY, "it is being run"},
		{unix.ENAMETOOLONG, "its name is too long for the host"},
		{unix.EILSEQ, "the filesystem of the host does not take its name"},
		{unix.EINVAL, "the filesystem of the host does not take it"},
	} {
		if errors.Is(err, h.code) {
			return h.why, true
		}
	}
	return "", false
}
