package review

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// The bounds of one look.
const (
	maxOutside      = 20000
	maxOutsideDepth = 64
	maxOutsideNames = 200 // that are listed; more are counted
)

// OutsideName is one name that is not kept, with everything below it.
type OutsideName struct {
	Path  string // as inside
	Dir   bool
	Files int // it stands for: itself, or what is below
}

// Outside is what an agent wrote where nothing is kept, beside the workspace and in the
// throw-away HOME: it will be gone. Listed is what a person would miss (see
// OutsideJudge); scratch files and caches are not.
type Outside struct {
	Items []OutsideName // the topmost names, by path
	Files int           // in all
	More  bool          // a bound was reached, or something could not be read
}

// Throwaway are the throw-away file systems of a sandbox. They are held by descriptors,
// which outlive the sandbox: at the end nobody changes them any more.
type Throwaway struct {
	judge OutsideJudge
	roots []throwawayRoot
}

// throwawayRoot is one file system, with what ringfence itself put there.
type throwawayRoot struct {
	at   string
	dir  *os.File
	dev  uint64
	made map[string]bool // relative
}

// OpenThrowaway looks at the file systems that are mounted at these paths below root, the
// sandbox's "/", before the agent runs.
func OpenThrowaway(inside int, at []string, judge OutsideJudge) (*Throwaway, error) {
	p := &Throwaway{judge: judge}
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

func openRoot(inside int, at string) (throwawayRoot, error) {
	r := throwawayRoot{at: at, made: map[string]bool{}}
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
	w := outsideWalk{root: &r, left: maxOutside}
	w.below(r.dir, "", func(rel string, _ bool) bool { r.made[rel] = true; return true })
	if w.more {
		r.dir.Close()
		return r, errors.New("it holds more than a launch puts there")
	}
	return r, nil
}

// Close lets the file systems go.
func (p *Throwaway) Close() {
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
func (p *Throwaway) Find() Outside {
	var out Outside
	if p == nil {
		return out
	}
	left := maxOutside
	for i := range p.roots {
		w := outsideWalk{root: &p.roots[i], left: left}
		dir, err := openDir(int(w.root.dir.Fd()), ".") // an offset of its own
		if err != nil {
			out.More = true
			continue
		}
		p.find(&w, dir, &out)
		dir.Close()
		left, out.More = w.left, out.More || w.more
	}
	slices.SortFunc(out.Items, func(a, b OutsideName) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// find takes the topmost new names that count. What is new and does not count may have
// something below that does.
func (p *Throwaway) find(w *outsideWalk, dir *os.File, out *Outside) {
	var open *OutsideName
	add := func() {
		if open == nil {
			return
		}
		open.Files = max(open.Files, 1)
		out.Files += open.Files
		if len(out.Items) < maxOutsideNames {
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
			open = &OutsideName{Path: full, Dir: isDir}
			if !isDir {
				open.Files = 1
			}
			return true
		}
		return w.root.made[rel] || p.judge.enters(full)
	})
	add()
}

// outsideWalk visits names in order, parents first, and never leaves a file system.
type outsideWalk struct {
	root  *throwawayRoot
	left  int
	depth int
	more  bool
}

func (w *outsideWalk) below(dir *os.File, rel string, visit func(rel string, isDir bool) bool) {
	names, err := dir.Readdirnames(w.left + 1)
	if err != nil && len(names) == 0 && !errors.Is(err, io.EOF) {
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

func (w *outsideWalk) one(dir *os.File, name, rel string, visit func(rel string, isDir bool) bool) {
	var st unix.Stat_t
	if unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return // gone meanwhile
	}
	isDir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !visit(rel, isDir) || !isDir || st.Dev != w.root.dev {
		return
	}
	if w.depth == maxOutsideDepth {
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
