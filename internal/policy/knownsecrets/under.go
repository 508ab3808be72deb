package knownsecrets

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ringfence.dev/ringfence/internal/file"
)

// maxNames bounds one directory listing. A directory with more is taken to hold
// what the row looks for: the answer is never silently incomplete.
const maxNames = 4096

// Under reports the credentials that would be seen if path were mounted: path
// itself if it is a catalogued location or lies in one, else the catalogued
// locations that exist inside it; less those that expose names. Both the path as
// given and the path with its symlinks resolved are judged. It walks no tree: it
// asks for the rows' own paths, and lists a directory only where a row has a *.
//
// The answer is as old as the call. Who mounts must open once and compare the
// inode, or a rename in between is not seen.
func Under(home, path string, expose []string) []Finding {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // a relative path would match nothing, and so pass
	}
	s := search{found: map[string]Finding{}, lists: map[string]listing{}}
	for _, p := range spellings(path) {
		for _, h := range spellings(home) {
			s.judge(h, p)
		}
	}
	maps.DeleteFunc(s.found, func(real string, f Finding) bool {
		return slices.ContainsFunc(expose, func(e string) bool {
			return names(home, e, f.Path) || names(home, e, real)
		})
	})
	return outermost(s.found)
}

// spellings returns a path as given and, if they differ, with symlinks resolved.
// A path that cannot be resolved is judged as given; mounting it will say why.
func spellings(path string) []string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		return []string{path, real}
	}
	return []string{path}
}

// search is one call of Under.
type search struct {
	found map[string]Finding // by resolved path, so that an alias is reported once
	lists map[string]listing // by directory, so that each is read once
}

type listing struct {
	names []string
	whole bool
}

func (s *search) add(path string, e Entry) {
	all := spellings(path)
	real := all[len(all)-1]
	if _, known := s.found[real]; !known {
		s.found[real] = Finding{Path: path, Entry: e}
	}
}

// judge adds what path shows if the home directory is home.
func (s *search) judge(home, path string) {
	if e, ok := Path(home, path); ok {
		s.add(path, e)
		return
	}
	bases := [roots]string{absolute: "/", inHome: home}
	all := paths()
	for i := range all {
		r := &all[i]
		if r.root == anywhere {
			continue
		}
		if from, rest, ok := r.start(bases[r.root], path); ok {
			s.walk(from, rest, r.entry)
		}
	}
}

// start returns the directory from which the rest of the row's pattern leads to
// paths inside dir; false if nothing the row names can lie there.
func (r *row) start(base, dir string) (from, rest string, ok bool) {
	if _, ok := below(dir, base); ok {
		return base, r.rest, true
	}
	rel, ok := below(base, dir)
	if !ok {
		return "", "", false
	}
	rest, left, ok := along(r.rest, rel)
	return dir, rest, ok && left == "" && rest != ""
}

// walk adds every path that exists below dir and matches pattern.
func (s *search) walk(dir, pattern string, e Entry) {
	segment, rest, more := strings.Cut(pattern, "/")
	matched := []string{segment}
	if strings.Contains(segment, "*") {
		l := s.list(dir)
		if !l.whole {
			s.add(filepath.Join(dir, pattern), e)
			return
		}
		matched = slices.DeleteFunc(slices.Clone(l.names), func(name string) bool { return !file.Star(segment, name) })
	}
	for _, name := range matched {
		path := filepath.Join(dir, name)
		if more {
			s.walk(path, rest, e)
		} else if exists(path) {
			s.add(path, e)
		}
	}
}

// list reads the names in dir. O_DIRECTORY keeps the open from waiting on a pipe
// that stands where a directory should.
func (s *search) list(dir string) listing {
	l, known := s.lists[dir]
	if known {
		return l
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		l.whole = absent(err)
	} else {
		l.names, err = f.Readdirnames(maxNames + 1)
		l.whole = len(l.names) <= maxNames && (err == nil || err == io.EOF)
		f.Close()
	}
	s.lists[dir] = l
	return l
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !absent(err)
}

// absent reports whether err means that there is nothing for us to see. What we
// may not look at the sandbox may not either: it runs as the same user, with no
// capability. Any other error leaves the matter open, and open means refused.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.ENOTDIR)
}

// names reports whether the user, by writing e, meant this path: e is the path,
// or a catalogued location that holds it. A mere ancestor such as HOME names
// nothing.
func names(home, e, path string) bool {
	for _, spelt := range spellings(e) {
		rel, ok := below(spelt, path)
		if !ok {
			continue
		}
		if _, known := Path(home, spelt); known || rel == "" {
			return true
		}
	}
	return false
}

// outermost sorts by path and leaves out what lies in another finding.
func outermost(found map[string]Finding) []Finding {
	all := slices.SortedFunc(maps.Values(found), func(a, b Finding) int {
		return strings.Compare(a.Path+"/", b.Path+"/")
	})
	var kept []Finding
	for _, f := range all {
		if n := len(kept); n > 0 {
			if _, ok := below(kept[n-1].Path, f.Path); ok {
				continue
			}
		}
		kept = append(kept, f)
	}
	return kept
}
