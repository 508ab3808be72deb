package launch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Bounds of the search for links in a directory that is carried over.
const (
	maxCarriedLinks   = 64
	maxCarriedEntries = 4096
)

// carryLinks shows what links inside a directory of settings lead to, where they lead out
// of it: dotfile managers keep skills and commands elsewhere and link them one by one. What
// cannot be shown is named. p is where the directory is inside, real where it is.
func (st *settings) carryLinks(p, real, why string) {
	seen, links := 0, 0
	filepath.WalkDir(real, func(at string, e fs.DirEntry, err error) error {
		if seen++; err != nil || seen > maxCarriedEntries {
			return fs.SkipAll
		}
		if e.Type() != fs.ModeSymlink {
			return nil
		}
		if links++; links > maxCarriedLinks {
			st.Notice(fmt.Sprintf("%s holds more than %d links: what the others lead to is not shown", plan.Show(p), maxCarriedLinks))
			return fs.SkipAll
		}
		st.carryLink(p, real, p+at[len(real):], at, why)
		return nil
	})
}

// carryLink shows what one link leads to, at the place where it is looked for inside.
func (st *settings) carryLink(p, dir, link, at, why string) {
	text, err := os.Readlink(at)
	if err != nil {
		return
	}
	to := text
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(link), to)
	}
	to = filepath.Clean(to)
	if err := st.RefusePlanted(at); err != nil {
		st.Notice(fmt.Sprintf("%s: what it leads to is not shown: %v", plan.Show(link), err))
		return
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil || file.Within(to, p) && file.Within(real, dir) || st.inWorkspace(to) || System(to) {
		return // it leads nowhere on the host either, or is there already
	}
	if no := st.uncarried(real); no != "" {
		st.Notice(fmt.Sprintf("%s leads to %s, which is not shown: %s", plan.Show(link), plan.Show(real), no))
		return
	}
	m := plan.Mount{Src: real, Dst: to, Why: why + ", by a link"}
	if !slices.ContainsFunc(st.Mounts, func(o plan.Mount) bool { return o.Dst == m.Dst || file.Within(m.Dst, o.Dst) }) {
		st.Mounts = append(st.Mounts, m)
	}
}

// uncarried says why the target of a link is not shown; "": it is.
func (st *settings) uncarried(real string) string {
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return err.Error()
	case !info.IsDir() && !info.Mode().IsRegular():
		return "it is neither a file nor a directory"
	case file.Within(st.User.Home, real):
		return "your home directory is in it"
	}
	for _, s := range st.Profile.State { // conversations of other projects, for one
		if own := agent.Expand(s.Path, st.User.Home); file.Within(real, own) || file.Within(own, real) {
			return "it is the state of " + st.Profile.Title + ", which is private to each project"
		}
	}
	if found := knownsecrets.Under(st.User.Home, real, nil); len(found) > 0 {
		return "it holds " + found[0].Entry.What + "; --ro shows it all the same"
	}
	return ""
}
