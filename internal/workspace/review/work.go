// Package review keeps what a session did to the trees of the host beyond the
// session's end: which trees they were, the private layer over each, and the store
// for undo. From these it makes the review: what changed, ranked by what the host
// would execute.
//
// Everything in a layer was written by an agent. It lies below a directory with a
// name that nobody inside can know, so that no link planted in a workspace leads a
// tool of the host into it.
package review

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/keeper"
	"ringfence.dev/ringfence/internal/workspace/overlay"
)

// View is how changes reach the host, by the words of the plan.
type View string

// The views.
const (
	Live   View = "live"
	Review View = "review"
	Copy   View = "copy" // review, of a complete copy: overlayfs was not to be had
)

// Tree is a directory of the host that a session could change.
type Tree struct {
	Path   string // canonical
	View   View
	Prefix string // ".git" where the tree is a git directory itself
	Head   string // commit that was checked out when the session began; "" if none
	Secret string // name of its directory below layer
	Masked []string
	// Phantoms are the digests of what stands in the layer for masked files, by path.
	Phantoms map[string]string
}

// Work is what a session did, on disk.
type Work struct {
	ID      string
	Agent   string
	Project string
	Started time.Time
	Ended   time.Time // zero: it runs, or was killed
	Trees   []Tree
	Source  string // the repository of which CloneDir is a clone; "" if there is none
	Name    string // that the user gave; "" if none
	Cwd     string // where it was started
	Stays   bool   // until it is removed, whatever it did
	Exit    *int   // its status, once it has ended by itself

	Step   func()      // is called for each change that is brought over or back; may be nil
	Looked func(n int) // is called now and then while a review looks at the host; may be nil

	folder
	lock *os.File
}

// folder is where everything of a session lies.
type folder struct{ dir string }

// treeWork is what a session did to one tree.
type treeWork struct {
	work *Work
	n    int
	*Tree
}

func (w *Work) tree(n int) treeWork { return treeWork{w, n, &w.Trees[n]} }

func (t treeWork) layer() *overlay.Layer { return t.work.Layer(t.n) }

const (
	workFile   = "work.json"
	lockFile   = "lock"
	standFile  = "stand-ins"
	undoDir    = "undo"
	layerDir   = "layer"
	maxWork    = 8 << 20
	workFormat = 1
)

// sessions is where all of them are.
func sessions(state string) string { return filepath.Join(state, "sessions") }

// New names the places of a session's work. Nothing is made yet.
func New(state, id string) *Work {
	return &Work{ID: id, folder: folder{filepath.Join(sessions(state), id)}}
}

// Add adds a tree and returns its number.
func (w *Work) Add(t Tree) int {
	var b [16]byte
	rand.Read(b[:])
	t.Secret = hex.EncodeToString(b[:])
	w.Trees = append(w.Trees, t)
	return len(w.Trees) - 1
}

// Upper is where the changes to a tree go that are not on the host, Scratch what
// overlayfs needs beside it, Base where the former content of held files is kept.
func (w *Work) Upper(n int) string   { return w.layer(n, "upper") }
func (w *Work) Scratch(n int) string { return w.layer(n, "work") }

func (w *Work) layer(n int, name string) string {
	return filepath.Join(w.dir, layerDir, w.Trees[n].Secret, name)
}

// StandIns is the keeper's list of names that stand on the host for held ones.
func (f folder) StandIns() string { return filepath.Join(f.dir, standFile) }

// Dir is where everything of the session lies.
func (f folder) Dir() string { return f.dir }

// Undo is the directory of the store.
func (f folder) Undo() string { return filepath.Join(f.dir, undoDir) }

// Create makes the directories and marks the session as running.
func (w *Work) Create() error {
	var err error
	if w.lock, err = w.claim(); err != nil {
		return err
	}
	for n := range w.Trees {
		for _, d := range []string{w.Upper(n), w.Scratch(n)} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				return fmt.Errorf("make the layer: %w", err)
			}
		}
		// The root of the view has the mode of the upper directory.
		if st, err := os.Stat(w.Trees[n].Path); err == nil {
			os.Chmod(w.Upper(n), st.Mode().Perm())
		}
	}
	return w.saveBy(file.ReplaceSoon)
}

// Last makes the record of a session that stays last, also after a power cut. What a session
// changed in the second before is on no disk either, nor what undo knows of it.
func (w *Work) Last() error {
	for _, path := range []string{filepath.Join(w.dir, workFile), w.dir} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
		if err == unix.ENOENT {
			return nil // it has ended
		}
		if err == nil {
			err = errors.Join(unix.Fsync(fd), unix.Close(fd))
		}
		if err != nil {
			return fmt.Errorf("keep the record of the session: %w", err)
		}
	}
	return nil
}

// claim makes the session's directory and locks it. Meanwhile nobody sweeps: a directory
// without a record and without a lock looks like that of a killed session.
func (f folder) claim() (*os.File, error) {
	all := filepath.Dir(f.dir)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return nil, err
	}
	broom, err := os.Open(all)
	if err != nil {
		return nil, err
	}
	defer broom.Close()
	if err := file.Lock(int(broom.Fd()), unix.LOCK_SH); err != nil {
		return nil, err
	}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return nil, err
	}
	own, err := lock(f.dir)
	if err != nil {
		return nil, err
	}
	return own, os.WriteFile(f.mark(), nil, 0o600)
}

func lock(dir string) (*os.File, error) {
	return file.LockFile(filepath.Join(dir, lockFile), unix.LOCK_EX|unix.LOCK_NB)
}

// treeJSON keeps names lossless: JSON alone would replace what is not UTF-8.
type treeJSON struct {
	Path   string   `json:"path"`
	View   View     `json:"view"`
	Prefix string   `json:"prefix,omitempty"`
	Head   string   `json:"head,omitempty"`
	Secret string   `json:"secret"`
	Masked []string `json:"masked,omitempty"`

	Phantoms map[string]string `json:"phantoms,omitempty"`
}

type workJSON struct {
	Version int        `json:"version"`
	ID      string     `json:"id"`
	Agent   string     `json:"agent"`
	Project string     `json:"project"`
	Started time.Time  `json:"started"`
	Ended   time.Time  `json:"ended"`
	Trees   []treeJSON `json:"trees"`
	Source  string     `json:"source,omitempty"`
	Name    string     `json:"name,omitempty"`
	Cwd     string     `json:"cwd,omitempty"`
	Stays   bool       `json:"stays,omitempty"`
	Exit    *int       `json:"exit,omitempty"`
}

// save writes the record such that it lasts.
func (w *Work) save() error { return w.saveBy(file.Replace) }

func (w *Work) saveBy(replace func(string, []byte, fs.FileMode) error) error {
	j := workJSON{Version: workFormat, ID: w.ID, Agent: w.Agent, Project: strconv.QuoteToASCII(w.Project), Started: w.Started.UTC(), Ended: w.Ended.UTC(),
		Name: w.Name, Cwd: strconv.QuoteToASCII(w.Cwd), Stays: w.Stays, Exit: w.Exit}
	for _, t := range w.Trees {
		x := treeJSON{Path: strconv.QuoteToASCII(t.Path), View: t.View, Prefix: t.Prefix, Head: t.Head, Secret: t.Secret}
		for _, m := range t.Masked {
			x.Masked = append(x.Masked, strconv.QuoteToASCII(m))
		}
		for name, sum := range t.Phantoms {
			if x.Phantoms == nil {
				x.Phantoms = map[string]string{}
			}
			x.Phantoms[strconv.QuoteToASCII(name)] = sum
		}
		j.Trees = append(j.Trees, x)
	}
	if w.Source != "" {
		j.Source = strconv.QuoteToASCII(w.Source)
	}
	b, err := json.MarshalIndent(j, "", " ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(w.dir, workFile), append(b, '\n'), 0o600)
}

// Open reads the work of a session.
func Open(state, id string) (*Work, error) {
	if !validID(id) {
		return nil, fmt.Errorf("%q is not the name of a session", id)
	}
	dir := filepath.Join(sessions(state), id)
	f, err := os.Open(filepath.Join(dir, workFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() > maxWork {
		return nil, fmt.Errorf("%s: not readable, or too large", f.Name())
	}
	if st.Size() == 0 { // the power was cut before Last
		return nil, fmt.Errorf("%s: %w", f.Name(), fs.ErrNotExist)
	}
	b := make([]byte, st.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, err
	}
	w, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if w.ID != id {
		return nil, fmt.Errorf("%s: is of session %q", f.Name(), w.ID)
	}
	w.dir = dir
	return w, nil
}

func decode(b []byte) (*Work, error) {
	var j workJSON
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&j); err != nil {
		return nil, err
	}
	if j.Version != workFormat || d.More() {
		return nil, fmt.Errorf("version %d is not known, or more than one value", j.Version)
	}
	project, err := strconv.Unquote(j.Project)
	w := &Work{ID: j.ID, Agent: j.Agent, Project: project, Started: j.Started, Ended: j.Ended, Name: j.Name, Stays: j.Stays, Exit: j.Exit}
	for _, t := range j.Trees {
		p, perr := strconv.Unquote(t.Path)
		x := Tree{Path: p, View: t.View, Prefix: t.Prefix, Head: t.Head, Secret: t.Secret}
		for _, m := range t.Masked {
			name, merr := strconv.Unquote(m)
			x.Masked, perr = append(x.Masked, name), errors.Join(perr, merr)
		}
		for q, sum := range t.Phantoms {
			name, merr := strconv.Unquote(q)
			x.stands(name, sum)
			perr = errors.Join(perr, merr)
		}
		if secret, serr := hex.DecodeString(t.Secret); serr != nil || len(secret) != 16 || perr != nil || !filepath.IsAbs(p) ||
			!slices.Contains([]View{Live, Review, Copy}, t.View) {
			return nil, fmt.Errorf("tree %q is not valid", t.Path)
		}
		w.Trees = append(w.Trees, x)
	}
	for _, q := range []struct {
		from string
		to   *string
	}{{j.Source, &w.Source}, {j.Cwd, &w.Cwd}} {
		if q.from != "" {
			var uerr error
			*q.to, uerr = strconv.Unquote(q.from)
			err = errors.Join(err, uerr)
		}
	}
	return w, err
}

func validID(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	})
}

// List returns the work of all sessions, the latest first. What cannot be read is
// told in the error and left out.
func List(state string) ([]*Work, error) {
	entries, err := os.ReadDir(sessions(state))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []*Work
	for _, e := range entries {
		w, werr := Open(state, e.Name())
		if errors.Is(werr, fs.ErrNotExist) {
			continue
		}
		if werr != nil {
			err = errors.Join(err, werr)
			continue
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *Work) int { return b.Started.Compare(a.Started) })
	return out, err
}

// Running says whether the session still runs.
func (w *Work) Running() bool {
	if w.lock != nil {
		return true
	}
	f, err := lock(w.dir)
	if err != nil {
		return errors.Is(err, unix.EWOULDBLOCK)
	}
	f.Close()
	return false
}

// Seize takes the work for a command that changes it. A session that was killed
// first gets its stand-ins off the host.
func (w *Work) Seize() (release func(), err error) {
	f, err := lock(w.dir)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("session %s still runs, or another command works on it", w.ID)
	}
	if err != nil {
		return nil, err
	}
	if err := keeper.ClearStandIns(w.StandIns()); err != nil {
		f.Close()
		return nil, fmt.Errorf("tidy up after session %s: %w", w.ID, err)
	}
	os.Remove(w.StandIns())
	return func() { f.Close() }, nil
}

// Sweep tidies up after sessions that were killed: what stood on the host in place of
// held names goes, and work in which nothing changed is forgotten.
func Sweep(state string) error {
	broom, err := os.Open(sessions(state))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer broom.Close()
	if file.Lock(int(broom.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // somebody begins just now; the next one sweeps
	}
	entries, err := broom.ReadDir(-1)
	for _, e := range entries {
		w := New(state, e.Name())
		if _, lerr := os.Lstat(w.mark()); !validID(e.Name()) || lerr != nil && w.begun() {
			continue // it ended as it should
		}
		f, lerr := lock(w.dir)
		if lerr != nil {
			continue // it runs
		}
		err = errors.Join(err, w.sweep(state))
		f.Close()
	}
	return err
}

func (w *Work) sweep(state string) error {
	if err := keeper.ClearStandIns(w.StandIns()); err != nil {
		return err
	}
	os.Remove(w.StandIns())
	if err := w.dropDisks(); err != nil {
		return err
	}
	whole, err := Open(state, w.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return w.Remove() // it was killed before it began
	}
	if err != nil {
		return err
	}
	if waits, err := whole.Waits(); err != nil || waits || whole.Source != "" || whole.Stays || whole.Kept() {
		return errors.Join(err, os.Remove(w.mark()))
	}
	return whole.Remove()
}

// dropDisks removes those of a virtual machine that was killed while it booted.
func (f folder) dropDisks() error {
	all, err := filepath.Glob(filepath.Join(f.dir, "disk-*"))
	for _, disk := range all {
		err = errors.Join(err, os.Remove(disk))
	}
	return err
}

// mark is a file that is there until the session has ended.
func (f folder) mark() string { return filepath.Join(f.dir, "running") }

func (f folder) begun() bool {
	_, err := os.Lstat(filepath.Join(f.dir, workFile))
	return err == nil
}

// End notes the end of the session. Where nothing changed, the work is forgotten.
func (w *Work) End(now time.Time, changed bool) error {
	defer w.lock.Close()
	if !changed && w.Source == "" && !w.Stays && !w.Elsewhere() {
		return w.Remove()
	}
	for n := range w.Trees {
		if err := file.RemoveTree(w.Scratch(n)); err != nil {
			return err
		}
	}
	w.Ended = now
	if err := w.save(); err != nil {
		return err
	}
	return os.Remove(w.mark())
}

// Layer is the private layer over a tree.
func (w *Work) Layer(n int) *overlay.Layer {
	t := &w.Trees[n]
	return &overlay.Layer{Root: t.Path, Upper: w.Upper(n), Copy: t.View == Copy, Since: w.Started, Base: w.tree(n).base, Step: w.Step}
}

// Elsewhere says whether something of the session may be on another machine that is not here.
func (f folder) Elsewhere() bool {
	_, err := os.Lstat(filepath.Join(f.dir, state.Elsewhere))
	return err == nil
}

// Waits says whether something waits for review, or to be brought here.
func (w *Work) Waits() (bool, error) {
	if w.Elsewhere() {
		return true, nil
	}
	for n := range w.Trees {
		empty, err := w.Layer(n).Empty()
		if err == nil && !empty && len(w.Trees[n].Phantoms) > 0 { // they may be all there is
			waiting, werr := w.tree(n).waiting()
			empty, err = len(waiting) == 0, werr
		}
		if err != nil || !empty {
			return true, err
		}
	}
	return w.unfetched()
}

// Kept says whether something of the session is on the host that undo would take back, or
// something was undone that can be brought back.
func (w *Work) Kept() bool {
	if w.Undone() {
		return true
	}
	h, err := w.openLog()
	if err != nil {
		return true
	}
	defer h.Close()
	for n := range w.Trees {
		if c, err := h.Changes(n); err != nil || len(c) > 0 {
			return true
		}
	}
	return false
}

// Remove forgets the work.
func (w *Work) Remove() error {
	if err := w.dropClone(); err != nil {
		return err
	}
	// Without its record it counts as never begun, and is swept if this is cut short.
	if err := os.Remove(filepath.Join(w.dir, workFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range []string{undoDir, "changes", layerDir, standFile} {
		if err := file.RemoveTree(filepath.Join(w.dir, name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(w.dir)
}
