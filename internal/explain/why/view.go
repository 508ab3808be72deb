package why

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// spot is a path of the view, with what stands there.
type spot struct {
	path string   // without links
	op   *plan.Op // of the mount or file that shows it; nil: the empty root
	mask *plan.Op // what hides it; nil: nothing
	host string   // what of the host is there; "": nothing of the host's
	st   fs.FileInfo
	err  error // of looking at host
	// assumed: to be judged as if the host had a file there
	assumed bool
	point   bool // a directory of our own, on the way to a mount below
}

// exists says whether the agent finds anything there when it starts.
func (s *spot) exists() bool {
	switch {
	case s.st != nil || s.point:
		return true
	case s.op == nil || s.host != "":
		return false
	}
	return string(s.op.Dst) == s.path || s.op.Do == plan.DoProc || s.op.Do == plan.DoPts
}

// view is what a program inside sees of the file system.
type view struct{ *plan.Plan }

// maxLinks is how many links the kernel follows.
const maxLinks = 40

// find follows a path as a program inside would.
func (v view) find(path string) spot {
	rest := strings.Split(strings.TrimPrefix(filepath.Clean(path), "/"), "/")
	at, links := "/", 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, ok := v.link(next)
		if !ok {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return spot{path: next, err: errors.New("too many links")}
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(strings.Trim(target, "/"), "/"), rest...)
	}
	return v.at(at)
}

// link says where a path leads that is itself a link inside.
func (v view) link(path string) (string, bool) {
	op := v.shows(path)
	switch {
	case op == nil:
		return "", false
	case op.Do == plan.DoProc:
		return v.magic(path)
	case op.Do == plan.DoSymlink:
		return string(op.Src), string(op.Dst) == path
	case op.Do == plan.DoBind || op.Do == plan.DoLayer || op.Do == plan.DoCache:
		if string(op.Dst) == path {
			return "", false // a source holds no link
		}
		target, err := os.Readlink(source(op, path))
		return target, err == nil
	}
	return "", false
}

// magic says where proc's own links to the root and the directory of a process lead:
// every process inside has the same root, and most begin in the same directory.
func (v view) magic(path string) (string, bool) {
	dir, name := filepath.Split(path)
	switch id := filepath.Base(dir); {
	case filepath.Dir(filepath.Clean(dir)) != "/proc" || strings.Trim(id, "0123456789") != "" && id != "self" && id != "thread-self":
		return "", false
	case name == "root":
		return "/", true
	case name == "cwd":
		return string(v.Process.Dir), true
	}
	return "", false
}

// shows finds the operation by which a path is in the view: the last that covers it.
func (v view) shows(path string) *plan.Op {
	for i := len(v.Ops) - 1; i >= 0; i-- {
		op := &v.Ops[i]
		switch op.Do {
		case plan.DoMask, plan.DoReadOnly, plan.DoDir:
			continue
		}
		if file.Within(path, string(op.Dst)) {
			return op
		}
	}
	return nil
}

// hides finds the mask over a path.
func (v view) hides(path string) *plan.Op {
	for i := len(v.Ops) - 1; i >= 0; i-- {
		if op := &v.Ops[i]; op.Do == plan.DoMask && file.Within(path, string(op.Dst)) {
			return op
		}
	}
	return nil
}

// source is the path of the host behind a path of the view.
func source(op *plan.Op, path string) string {
	return filepath.Join(string(op.Src), strings.TrimPrefix(path, string(op.Dst)))
}

// at looks at a path without links.
func (v view) at(path string) spot {
	s := spot{path: path, op: v.shows(path)}
	if s.op != nil {
		switch s.op.Do {
		case plan.DoBind, plan.DoLayer, plan.DoCache, plan.DoDevice:
			s.host = source(s.op, path)
			s.st, s.err = os.Lstat(s.host)
		}
	}
	if m := v.hides(path); m != nil && (s.exists() || v.masked(string(m.Dst))) {
		s.mask = m
	}
	s.point = !s.exists() && v.above(path)
	return s
}

// masked says whether something is there for a mask to hide.
func (v view) masked(at string) bool {
	op := v.shows(at)
	if op == nil || op.Do != plan.DoBind && op.Do != plan.DoLayer {
		return op != nil
	}
	_, err := os.Lstat(source(op, at))
	return err == nil
}

// above says whether a path is a directory that leads to something in the view.
func (v view) above(path string) bool {
	for i := range v.Ops {
		if dst := string(v.Ops[i].Dst); v.Ops[i].Do != plan.DoMask && dst != path && file.Within(dst, path) || path == "/" {
			return true
		}
	}
	for i := range v.Ops {
		if op := &v.Ops[i]; op.Do == plan.DoDir && string(op.Dst) == path {
			return true
		}
	}
	return false
}

// Layered says whether changes of a path go to a private layer: then what is seen
// inside is another file than the host's, with the same bytes.
func (w *World) Layered(path string) bool {
	s := view{w.Plan}.find(path)
	t := w.tree(&s)
	return t != nil && t.View == plan.Review
}

// tree is the directory of the host that a path may be changed in; nil if none.
func (w *World) tree(s *spot) *Tree {
	if s.op == nil || s.op.Do != plan.DoBind && s.op.Do != plan.DoLayer {
		return nil
	}
	for i := range w.Trees {
		if w.Trees[i].Path == string(s.op.Dst) {
			return &w.Trees[i]
		}
	}
	return nil
}
