package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Bounds of the search for repositories. It is made only in a directory that is in no
// repository itself, was never a project, and was not named: most launches pay nothing.
const (
	maxLooked  = 500 // directories
	maxListed  = 500 // entries of one
	maxDeep    = 3   // as in src/HOST/OWNER/NAME, below src/HOST
	maxNamedBy = 2   // repositories; more are not looked for
)

// ErrSeveral says that a workspace holds several repositories and nobody said that all of
// them are meant.
var ErrSeveral = errors.New("several repositories")

// refuseSeveral stops a launch in a directory such as ~/src, where the agent would see and
// change every project: by flag or policy, or once by answering, a person says that this is
// meant.
func (b *Base) refuseSeveral() error {
	ws := b.Workspaces[0]
	if b.Repo != nil || len(b.Asked.Workspaces) > 0 || b.Asked.AllRepos || b.Asked.Look || b.Asked.Passing || b.Asked.Server != "" || b.Dirs.Has(ws.Path) ||
		slices.ContainsFunc(b.Policy.Workspace.Paths, func(r policy.Rule) bool {
			path, _ := policy.SplitWorkspace(r.Value)
			return policy.Expand(path, b.User.Home) == ws.Path
		}) {
		return nil
	}
	found := repositories(ws.Path)
	if len(found) < maxNamedBy {
		return nil
	}
	for i, f := range found {
		found[i] = plan.Show(f)
	}
	return fault.New(fault.Refused, fmt.Sprintf("start in one of them, or show them all: --workspace %s", plan.Show(ws.Path)),
		"%s holds %w, such as %s: the agent would see and change all of them", plan.Show(ws.Path), ErrSeveral, strings.Join(found, " and "))
}

// repositories looks for some below a directory, the nearest first.
func repositories(root string) (found []string) {
	looked := 0
	level := []string{""}
	for range maxDeep {
		var next []string
		for _, rel := range level {
			for _, name := range directories(filepath.Join(root, rel)) {
				if looked++; looked > maxLooked {
					return found
				}
				at := filepath.Join(rel, name)
				if _, err := os.Lstat(filepath.Join(root, at, ".git")); err != nil {
					next = append(next, at)
					continue
				}
				if found = append(found, at); len(found) == maxNamedBy {
					return found
				}
			}
		}
		level = next
	}
	return found
}

// directories lists those of a directory that people make: no hidden ones, no links.
func directories(dir string) (out []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxListed) // what can be read counts
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out
}
