// Package outside finds what an agent wrote where nothing is kept: beside the
// workspace and in the throw-away HOME. It is looked for through descriptors of the
// sandbox's own file systems, which outlive the sandbox, so that at the end nobody
// changes them any more.
//
// What is listed is what a person would miss (see Judge); scratch files and caches
// are not. The walk is bounded, and says when it ended at a bound.
package outside

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// The bounds of one look.
const (
	maxEntries = 20000
	maxDepth   = 64
	maxNames   = 200 // that are listed; more are counted
)

// Item is one name that is not kept, with everything below it.
type Item struct {
	Path  string // as inside
	Dir   bool
	Files int // it stands for: itself, or what is below
}

// Found is what will be gone.
type Found struct {
	Items []Item // the topmost names, by path
	Files int    // in all
	More  bool   // a bound was reached, or something could not be read
}

// Places are the throw-away file systems of a sandbox.
type Places struct {
	judge Judge
	roots []root
}

// root is one file system, with what ringfence itself put there.
type root struct {
	at   string
	dir  *os.File
	dev  uint64
	made map[string]bool // relative
}

// Open looks at the file systems that are mounted at these paths below root, the
// sandbox's "/", before the agent runs.
func Open(inside int, at []string, judge Judge) (*Places, error) {
	p := &Places{judge: judge}
	for _, a := range at {
		if !judge.looks(a) {
			continue
		}
		r, err := openRoot(inside, a)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("look at %q inside: %w", a, err)
		}
		p.roots = append(p.roots, r)
	}
	return p, nil
}

func openRoot(inside int, at string) (root, error) {
	r := root{at: at, made: map[string]bool{}}
	fd, err := sys.OpenBeneath(inside, strings.TrimPrefix(at, "/"))
	if err != nil {
		return r, err
	}
	defer unix.Close(fd)
	if r.dir, err = openDir(fd, "."); err != nil {
		return r, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(r.dir.Fd()), &st); err != nil {
		r.dir.Close()
		return r, err
	}
	r.dev = st.Dev
	w := walk{root: &r, left: maxEntries}
	w.below(r.dir, "", func(rel string, _ bool) bool { r.made[rel] = true; return true })
	if w.more {
		r.dir.Close()
		return r, errors.New("it holds more than a launch puts there")
	}
	return r, nil
}

// Close lets the file systems go.
func (p *Places) Close() {
	if p == nil {
		return
	}
	for _, r := range p.roots {
		r.dir.Close()
	}
	p.roots = nil
}

// Find lists what a person would miss. It may run while the agent does, and then tells
// of a moment.
func (p *Places) Find() Found {
	var out Found
	if p == nil {
		return out
	}
	left := maxEntries
	for i := range p.roots {
		w := walk{root: &p.roots[i], left: left}
		dir, err := openDir(int(w.root.dir.Fd()), ".") // an offset of its own
		if err != nil {
			out.More = true
			continue
		}
		p.find(&w, dir, &out)
		dir.Close()
		left, out.More = w.left, out.More || w.more
	}
	slices.SortFunc(out.Items, func(a, b Item) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// find takes the topmost new names that count. What is new and does not count may have
// something below that does.
func (p *Places) find(w *walk, dir *os.File, out *Found) {
	var open *Item
	add := func() {
		if open == nil {
			return
		}
		open.Files = max(open.Files, 1)
		out.Files += open.Files
		if len(out.Items) < maxNames {
			out.Items = append(out.Items, *open)
		} else {
			out.More = true
		}
		open = nil
	}
	w.below(dir, "", func(rel string, isDir bool) bool {
		full := path.Join(w.root.at, rel)
		if open != nil && strings.HasPrefix(full, open.Path+"/") {
			if !isDir {
				open.Files++
			}
			return true
		}
		add()
		if !w.root.made[rel] && p.judge.Misses(full) {
			open = &Item{Path: full, Dir: isDir}
			if !isDir {
				open.Files = 1
			}
			return true
		}
		return w.root.made[rel] || p.judge.enters(full)
	})
	add()
}

// walk visits names in order, parents first, and never leaves a file system.
type walk struct {
	root  *root
	left  int
	depth int
	more  bool
}

func (w *walk) below(dir *os.File, rel string, visit func(rel string, isDir bool) bool) {
	names, err := dir.Readdirnames(w.left + 1)
	if err != nil && len(names) == 0 && !isEOF(err) {
		w.more = true
		return
	}
	if len(names) > w.left {
		names, w.more = names[:w.left], true
	}
	slices.Sort(names)
	for _, name := range names {
		if w.left == 0 {
			w.more = true
			return
		}
		w.left--
		w.one(dir, name, path.Join(rel, name), visit)
	}
}

func (w *walk) one(dir *os.File, name, rel string, visit func(rel string, isDir bool) bool) {
	var st unix.Stat_t
	if unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return // gone meanwhile
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !visit(rel, isDir) || !isDir || st.Dev != w.root.dev {
		return
	}
	if w.depth == maxDepth {
		w.more = true
		return
	}
	sub, err := openDir(int(dir.Fd()), name)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EXDEV) {
		return
	}
	if err != nil {
		w.more = true
		return
	}
	defer sub.Close()
	w.depth++
	w.below(sub, rel, visit)
	w.depth--
}

// openDir opens a directory of the same file system for reading.
func openDir(at int, name string) (*os.File, error) {
	fd, err := sys.OpenOn(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}
