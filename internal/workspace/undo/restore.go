package undo

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

// Outcome says what became of a path.
type Outcome string

// The outcomes.
const (
	Restored Outcome = "restored" // it is as it was before the session
	Removed  Outcome = "removed"  // the session had made it
	Same     Outcome = "same"     // there was nothing to do
	Conflict Outcome = "conflict" // it was left as it is
	NotKept  Outcome = "not kept" // the store does not have it
	Stays    Outcome = "stays"    // objects of git, which are never removed
)

// Result is what became of one path. What the session made is one path, whatever
// is below it.
type Result struct {
	Path    string
	Outcome Outcome
	Why     string
}

// restorer is one run.
type restorer struct {
	*Log
	plan
	writer
	results []Result
}

// plan is what a run is to bring back and what must stay as it is. It only looks.
type plan struct {
	*Log
	tree    int
	paths   map[string]bool // nil: everything
	force   bool
	git     *gitJudge
	stuck   map[uint32]string // originals that stay as they are, with why
	gaps    map[*node]bool    // names that originals left, to be cleared
	opened  map[uint32]uint32 // modes that directories had before we opened them
	strange map[place]bool    // places with something else in them than the session left
	found   []string          // names of now that originals had which were asked for
}

// writer changes the trees, and writes down each step before.
type writer struct {
	*Log
	records recordFile
	modes   map[place]uint32 // modes that directories get at the end
	broken  bool             // nothing can be noted any more
}

// Restore makes a tree as it was before the session, or the parts of it that are
// under one of the paths, by the names of before or of now. What changed after
// the end of the session is left alone unless force is set; so is everything when
// the end is not known. It can be killed at any time and be run again. What is wrong
// with one entry is in its result, and the others are brought back. Its error says
// what could not be done at all; the results up to there are returned too.
func (l *Log) Restore(tree int, paths []string, force bool) ([]Result, error) {
	if err := l.checkTree(tree); err != nil {
		return nil, err
	}
	r := &restorer{Log: l, writer: writer{Log: l, records: recordFile{fd: -1}, modes: map[place]uint32{}},
		plan: plan{Log: l, tree: tree, force: force, stuck: map[uint32]string{}, gaps: map[*node]bool{}, strange: map[place]bool{}, opened: map[uint32]uint32{}}}
	if err := r.only(paths); err != nil {
		return nil, err
	}
	defer func() { unix.Close(r.records.fd) }()
	err := r.openRecords()
	if err == nil {
		err = r.run()
	}
	slices.SortStableFunc(r.results, func(a, b Result) int { return strings.Compare(a.Path, b.Path) })
	r.results = slices.CompactFunc(r.results, func(a, b Result) bool { return a.Path == b.Path })
	if err != nil {
		err = fmt.Errorf("undo: %w", err)
	}
	return r.results, err
}

func (p *plan) only(paths []string) error {
	if paths == nil {
		return nil
	}
	p.paths = map[string]bool{}
	for _, path := range paths {
		if path == "." || path == "" {
			p.paths = nil
			return nil
		}
		if err := checkPlain(path, maxDeep); err != nil {
			return fmt.Errorf("undo: %w", err)
		}
		p.paths[path] = true
	}
	return nil
}

// wants reports whether a place is under one of the paths.
func (p *plan) wants(s place) bool {
	if s.tree != p.tree {
		return false
	}
	if p.paths == nil {
		return true
	}
	for rel := s.rel; rel != ""; rel, _ = split(rel) {
		if p.paths[rel] {
			return true
		}
	}
	return false
}

func (r *restorer) run() error {
	if err := r.clean(); err != nil {
		return err
	}
	for len(r.unmoved) > 0 {
		if err := r.note(&record{op: opBack, id: r.unmoved[0]}); err != nil {
			return err
		}
		r.unmoved = r.unmoved[1:]
	}
	originals := r.selected()
	r.unlock(originals)
	r.git = newGitJudge(&r.plan, originals)
	defer r.git.close()
	r.git.survey()
	if err := r.judge(originals); err != nil {
		return err
	}
	r.leaveStuck(originals)
	for _, t := range r.inOrder(originals) {
		err := r.bringBack(t)
		if err != nil && !r.local(err) {
			return fmt.Errorf("%q: %w", t.home.rel, err)
		}
		if err != nil {
			r.sayOriginal(t, Conflict, err.Error())
		}
	}
	if err := r.removeOurs(); err != nil {
		return err
	}
	r.setModes()
	r.sayPacked()
	r.sayStayed()
	r.untouched()
	return r.sync()
}

// local reports whether an error is about one entry and no reason to stop: all that
// the system says of one, unless there is no room left for any.
func (w *writer) local(err error) bool {
	var errno unix.Errno
	known := errors.As(err, &errno) || errors.Is(err, errDeep)
	return !w.broken && known && !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT)
}

// untouched names the paths that were asked for and had nothing to do.
func (r *restorer) untouched() {
	for p := range r.paths {
		said := slices.ContainsFunc(r.results, func(x Result) bool { return inside(p, x.Path) })
		if !said && !slices.ContainsFunc(r.found, func(x string) bool { return inside(p, x) }) {
			r.say(p, Same, "")
		}
	}
}

func (r *restorer) say(path string, o Outcome, why string) {
	if path == "" {
		path = "."
	}
	r.results = append(r.results, Result{path, o, why})
	if r.Step != nil {
		r.Step()
	}
}

// fault says what went wrong with a path of which something else was said before.
func (r *restorer) fault(s place, why string) {
	if s.tree != r.tree {
		return
	}
	r.say(s.rel, Conflict, why)
	last := len(r.results) - 1
	said := r.results[last]
	r.results = slices.DeleteFunc(r.results[:last], func(x Result) bool { return x.Path == said.Path })
	r.results = append(r.results, said)
}

// sayOriginal names an original by the path that it has in the tree of this run.
func (r *restorer) sayOriginal(t *original, o Outcome, why string) {
	if t.home.tree == r.tree {
		r.say(t.home.rel, o, why)
	} else if at, ok := r.at[t.id]; ok && at.tree == r.tree {
		r.say(at.rel, o, why)
	}
}

func (w *writer) sync() error {
	for _, fd := range w.roots {
		if fd < 0 {
			continue
		}
		dir, err := openAt(fd, "", unix.O_RDONLY|unix.O_DIRECTORY)
		if err == nil {
			err = allToDisk(dir)
			unix.Close(dir)
		}
		if err != nil && err != unix.EACCES {
			return err
		}
	}
	return toDisk(w.records.fd)
}

// openRecords opens the log of the restores, which only one may write.
func (w *writer) openRecords() error {
	path := filepath.Join(w.dir, restoreName)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("open %q: %w", path, err)
	}
	w.records = recordFile{fd: fd}
	if err = file.Lock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		err = fmt.Errorf("lock %q: %w", path, err)
	} else if w.records.size, err = w.read(restoreName, len(w.trees), func(record) error { return nil }); err == nil {
		err = unix.Ftruncate(fd, w.records.size)
	}
	if err == nil && w.records.size == 0 {
		err = w.note(&record{op: opHead, trees: w.trees})
	}
	return err
}

// note writes down what is about to be done.
func (w *writer) note(rec *record) error {
	for _, s := range []place{rec.from, rec.to} {
		if len(s.rel) > maxDeep {
			return fmt.Errorf("a path of %d bytes: %w", len(s.rel), errDeep)
		}
	}
	w.failpoint("note")
	err := w.records.write(pack(nil, rec))
	w.broken = w.broken || err != nil
	return err
}

func (l *Log) failpoint(what string) {
	if l.fail != nil {
		l.fail(what)
	}
}

// begin notes that the time of the last change of an inode is ours from here on.
func (w *writer) begin(i ident) error {
	if w.begun[i] {
		return nil
	}
	w.begun[i] = true
	return w.note(&record{op: opBegin, ident: i})
}

// unname notes, before a name of a file goes, that this changes the file for its other
// names: they are still as the session left them. What somebody changed since stays theirs.
func (w *writer) unname(dir int, name string) error {
	e, err := look(dir, name)
	if missing(err) || err == nil && (!e.many || e.ctime.after(w.end)) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.begin(e.ident)
}

// clean finishes the last step of a run that was killed.
func (r *restorer) clean() error {
	if r.close != nil {
		err := r.note(r.close)
		r.close = nil
		return err
	}
	if r.step == nil {
		return nil
	}
	dir, name, err := r.parent(r.step.from)
	if err == nil {
		r.failpoint("unlink")
		err = unix.Unlinkat(dir, name, 0)
		unix.Close(dir)
	}
	if err != nil && !missing(err) {
		r.say(r.step.from.rel, Conflict, "an interrupted undo left it: "+err.Error())
	}
	r.step = nil
	return r.note(&record{op: opDone})
}

// late reports whether something changed after the session was over.
func (p *plan) late(e entry) bool {
	return !p.force && !mutated("late") && !p.begun[e.ident] && (!p.ended || e.ctime.after(p.end))
}

// unlock lets us into directories of which the session took the permissions. What
// that fails for fails again, and is said, when it is brought back.
func (r *restorer) unlock(originals []*original) {
	seen := map[place]bool{}
	for _, t := range originals {
		at, ok := r.at[t.id]
		for i := 0; ok && i <= len(at.rel); i++ {
			if i < len(at.rel) && at.rel[i] != '/' {
				continue
			}
			s := place{at.tree, at.rel[:i]}
			if seen[s] {
				continue
			}
			seen[s] = true
			r.openUp(s)
		}
	}
}

// openUp lets us into one directory that the session made or changed. One that is
// older gets its mode at the end.
func (r *restorer) openUp(s place) error {
	n, cover, _ := r.names.find(s)
	var was *original
	if n != nil && n.state == orig {
		was = r.all[n.obj.id]
	}
	if cover.state == orig && (was == nil || was.node == nil) {
		return nil
	}
	e, err := r.look(s)
	if missing(err) || err == nil && (e.kind != change.Directory || e.mode&0o700 == 0o700) {
		return nil
	}
	if err != nil {
		return err
	}
	if was != nil {
		r.modes[was.home], r.opened[was.id] = was.node.mode, e.mode
	}
	return r.setMode(s, e.mode|0o700)
}

// setMode sets the mode of a file or directory.
func (w *writer) setMode(s place, mode uint32) error {
	root, err := w.root(s.tree)
	if err != nil {
		return err
	}
	fd, err := openAt(root, s.rel, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if e, err := look(fd, ""); err != nil || e.mode == mode || e.kind == change.Symlink {
		return err
	}
	if err := w.aboutTo(s, Mode); err != nil {
		return err
	}
	w.failpoint("chmod")
	return sys.Chmod(fd, mode)
}

// setModes gives the directories their modes, the deepest first.
func (r *restorer) setModes() {
	var all []place
	for s := range r.modes {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b place) int { return b.compare(a) })
	for _, s := range all {
		err := r.setMode(s, r.modes[s])
		if err != nil && !missing(err) {
			r.fault(s, "set its mode: "+err.Error())
		}
	}
}
