package scan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// These bound what is looked at for names that a command does not say in full.
const (
	maxReached = 1 << 18 // names of the tree
	maxMeant   = 1 << 16 // names that commands may mean
	maxBases   = 64      // directories that commands may be in
)

// entry is a file of the tree.
type entry struct {
	rel  string
	stat string // changes with the file
}

// everything lists all files of the tree but git's own, once. With more than can be
// listed there is an error.
func (s *scan) everything() ([]entry, error) {
	if s.listed {
		return s.entries, s.entriesErr
	}
	s.listed = true
	w := &walk{tree: s.tree, deep: true, budget: Budget{Entries: maxReached, Depth: maxReached, Time: time.Hour}}
	w.visit = func(rel string, kind byte) {
		if kind != unix.DT_REG && kind != unix.DT_LNK {
			return
		}
		var st unix.Stat_t
		if err := unix.Fstatat(s.tree.fd, rel, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			w.cut = w.cut || !absent(err)
			return
		}
		s.entries = append(s.entries, entry{rel, fmt.Sprintf("%o %d %d %d %d", st.Mode, st.Size, st.Ino, st.Mtim.Nano(), st.Ctim.Nano())})
	}
	w.run(nil)
	if w.cut {
		s.entries, s.entriesErr = nil, errBudget
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.rel, b.rel) })
	return s.entries, s.entriesErr
}

// reach is the files of the tree that commands use, as far as their text says it.
type reach struct {
	files []string
	dirs  []string // directories in which something is run
	all   bool     // any file may be what they run
}

// reached resolves what commands use. A name may be meant from the root, from where an
// agent starts, and from any directory that the commands go to.
func (s *scan) reached(u *usage) (reach, error) {
	bases, lost := s.bases(u.dirs)
	out := reach{all: u.unnamed}
	var patterns []string
	for _, n := range u.names {
		name, wild := s.plainName(n.name)
		switch {
		case name == "" || len(name) > unix.PathMax:
		case !wild && path.IsAbs(name):
			if rel, ok := s.tree.leads("", name); ok {
				out.add(cmp.Or(rel, "."), n.dir)
			}
		case !wild && !lost:
			for _, b := range bases {
				if rel := path.Join(b, name); local(rel) {
					out.add(rel, n.dir)
				}
			}
		case strings.Trim(name, any1+"./") == "":
			out.all = out.all || n.runs && wild || n.dir && !wild
		case strings.Contains(path.Base(name), any1) && !n.runs: // given to a program: data
		default:
			patterns = append(patterns, floating(name))
			if n.dir {
				patterns = append(patterns, floating(name+"/"+any1))
			}
		}
	}
	if len(out.files) > maxMeant {
		return reach{}, errBudget
	}
	if err := s.tree.within(&out); err != nil || out.all || len(patterns) == 0 {
		return out.sorted(), err
	}
	entries, err := s.everything()
	for _, e := range entries {
		if slices.ContainsFunc(patterns, func(p string) bool { return fits(p, "/"+e.rel) }) {
			out.files = append(out.files, e.rel)
		}
	}
	return out.sorted(), err
}

func (r *reach) add(rel string, dir bool) {
	r.files = append(r.files, rel)
	if dir {
		r.dirs = append(r.dirs, rel)
	}
}

func (r reach) sorted() reach {
	slices.Sort(r.files)
	r.files = slices.Compact(r.files)
	return r
}

// plainName is a name without the mark of the project's directory, and whether a part
// of it is not known.
func (s *scan) plainName(n string) (string, bool) {
	n = strings.TrimPrefix(n, "file://")
	if rest, ok := strings.CutPrefix(n, here1); ok && (rest == "" || rest[0] == '/') {
		n = "." + rest
	}
	n = strings.ReplaceAll(n, here1, any1)
	return n, strings.Contains(n, any1)
}

// floating is a pattern for a name whose beginning is not known.
func floating(name string) string {
	if i := strings.LastIndex(name, "../"); i >= 0 {
		name = any1 + "/" + name[i+3:]
	}
	for strings.Contains(name, "/./") || strings.Contains(name, "//") {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "/./", "/"), "//", "/")
	}
	name = strings.TrimPrefix(name, "./")
	if strings.HasPrefix(name, any1) || strings.HasPrefix(name, "/") {
		return any1 + name
	}
	return any1 + "/" + name
}

// fits matches a path; any1 is any characters. It goes back to the last of them only,
// which is enough and has an end.
func fits(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == any1[0]:
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], any1) == ""
}

// bases are the directories from which names may be meant, and whether one of them is
// not known.
func (s *scan) bases(dirs []string) (out []string, lost bool) {
	out = []string{"."}
	for dir := s.budget.Dir; dir != "" && dir != "." && local(dir); dir = path.Dir(dir) {
		out = append(out, dir)
	}
	for _, d := range dirs {
		name, wild := s.plainName(d)
		if wild || len(out) > maxBases {
			return out, true
		}
		for _, b := range slices.Clone(out) {
			rel, ok := s.tree.leads(b, name)
			if ok && !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	return out, len(out) > maxBases
}

// allFiles is the digest of the whole tree, by what the kernel says of each file.
func (s *scan) allFiles() (string, error) {
	entries, err := s.everything()
	h := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(h, "%q %s\n", e.rel, e.stat)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// below lists the files of a directory, through links too.
func (s *scan) below(dir string) ([]string, error) {
	var out []string
	var failed error
	w := &walk{tree: s.tree, all: true, only: true, budget: Budget{Entries: starredNames, Depth: starredDepth + strings.Count(dir, "/"), Time: time.Hour}}
	w.visit = func(rel string, kind byte) {
		if kind != unix.DT_DIR {
			out = append(out, rel)
		}
	}
	w.closed = func(_ string, err error) { failed = errors.Join(failed, err) }
	w.run([]string{dir})
	if w.cut {
		failed = errors.Join(failed, errBudget)
	}
	return out, failed
}
