package agent

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

// Lookup is how Find looks at the host.
type Lookup struct {
	Stat    func(path string) (fs.FileInfo, error)     // follows symlinks
	Resolve func(path string) (string, error)          // the same path without symlinks
	Head    func(path string, n int64) ([]byte, error) // the first n bytes of a file
}

// Host looks at the real host.
func Host() Lookup {
	return Lookup{Stat: os.Stat, Resolve: filepath.EvalSymlinks, Head: head}
}

func head(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// Query says what to find and where.
type Query struct {
	Command    string // what the user typed in place of the profile's own names; may be a path
	Dir        string // where a relative Command starts
	Path       string // PATH
	Home       string
	Workspaces []string
	Look       Lookup

	anywhere bool // workspaces are searched too
}

// Binary is a program that was found.
type Binary struct {
	Path        string // as it was found
	Resolved    string // without symlinks
	Tree        string // what must be visible for it to run; "" if it lies in a workspace
	Interpreter string // absolute path of what its #! line names; "" if it has none
}

// Find looks for the agent on PATH and in the places of the profile. Relative
// entries of PATH are ignored. So is whatever lies in a workspace, or leads into
// one: a repository with a claude of its own must not become the agent that is
// handed the user's prompts. Only a path that the user typed is taken as it is,
// and a plain command, which is none of ours, is looked for as a shell would.
func (p *Profile) Find(q Query) (Binary, error) {
	if strings.Contains(q.Command, "/") {
		path := q.Command
		if !filepath.IsAbs(path) {
			path = filepath.Join(q.Dir, path)
		}
		return p.finish(q, path, q.Look.program(path))
	}
	q.anywhere = len(p.Search.Names) == 0
	var denied error
	for _, path := range p.candidates(q) {
		if len(p.Search.Names) > 0 {
			path = q.Look.behind(path)
		}
		err := q.Look.program(path)
		if err == nil {
			return p.finish(q, path, nil)
		}
		if denied == nil && errors.Is(err, errNotProgram) {
			_, denied = p.finish(q, path, err)
		}
	}
	if denied != nil {
		return Binary{}, denied
	}
	name := q.Command
	if name == "" {
		name = p.Name
	}
	hint := p.Install
	if hint == "" {
		hint = "look at how it is written; a program that is not on PATH is named by its path, as in ./" + filepath.Base(name)
	}
	return Binary{}, fault.New(fault.NotFound, hint, "%q: not found on PATH", name)
}

// candidates lists every path where the program may be, in order.
func (p *Profile) candidates(q Query) []string {
	names := p.Search.Names
	if q.Command != "" {
		names = []string{q.Command}
	}
	var list []string
	for _, name := range names {
		for _, dir := range filepath.SplitList(q.Path) {
			if path := filepath.Join(dir, name); q.usable(dir, path) {
				list = append(list, path)
			}
		}
	}
	if q.Command != "" {
		return list
	}
	for _, place := range p.Search.Places {
		if path := Expand(place, q.Home); q.usable("/", path) {
			list = append(list, path)
		}
	}
	return list
}

// usable reports whether a program at path, found by way of dir, may be taken.
func (q Query) usable(dir, path string) bool {
	return filepath.IsAbs(dir) && (q.anywhere || !q.inWorkspace(path))
}

// inWorkspace reports whether path, or what it leads to, lies in a workspace.
func (q Query) inWorkspace(path string) bool {
	resolved := q.resolved(path)
	for _, ws := range q.Workspaces {
		if file.Within(path, ws) || file.Within(resolved, q.resolved(ws)) {
			return true
		}
	}
	return false
}

func (q Query) resolved(path string) string {
	if r, err := q.Look.Resolve(path); err == nil {
		return r
	}
	return path
}

// errNotProgram says why a path that exists cannot be started.
var errNotProgram = errors.New("not an executable file")

func (l Lookup) program(path string) error {
	info, err := l.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return errNotProgram
	}
	return nil
}

// finish fills in what is known of a program at path.
func (p *Profile) finish(q Query, path string, err error) (Binary, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return Binary{}, fault.New(fault.NotFound, "", "%q: no such file", path)
	}
	if err != nil {
		return Binary{}, fault.New(fault.NotExecutable, "", "%q: %w", path, cause(err))
	}
	b := Binary{Path: path}
	if b.Resolved, err = q.Look.Resolve(path); err != nil {
		return Binary{}, fault.New(fault.NotFound, "", "%q: %w", path, cause(err))
	}
	if !q.inWorkspace(path) {
		b.Tree = p.tree(q.Home, b.Resolved)
	}
	b.Interpreter, err = q.interpreter(b.Resolved)
	return b, err
}

// cause strips the path, which is shown quoted already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// tree is the smallest directory that holds all a program needs: one that the
// profile names, or the outermost node_modules, because packages there find each
// other by walking up; else the file stands alone.
func (p *Profile) tree(home, resolved string) string {
	for _, t := range p.Search.Trees {
		if dir := Expand(t, home); file.Within(resolved, dir) {
			return dir
		}
	}
	const modules = "/node_modules/"
	if i := strings.Index(resolved, modules); i >= 0 {
		return resolved[:i+len(modules)-1]
	}
	return resolved
}
