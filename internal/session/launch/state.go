package launch

import (
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// stateItem is a path under HOME that lives in the project's state. One without a
// reason is only a mount point below another.
type stateItem struct {
	state.Item
	why string
}

// PlaceState makes the project's state ready and binds it. A look makes nothing:
// it shows where things would be.
func PlaceState(b Base, total Contribution) (project *state.Project, out Contribution, err error) {
	if b.Asked.Passing || b.Asked.Fetch != "" {
		return nil, out, nil
	}
	root := b.stateRoot()
	if b.Asked.Look {
		home := filepath.Join(b.Dirs.State, "projects", state.Key(root), "home")
		for _, k := range total.state {
			out.bindState(b.User.Home, k, state.Placed{Path: filepath.Join(home, k.Path)})
		}
		return project, out, nil
	}
	if out.state, err = mountPoints(b, total); err != nil {
		return project, out, err
	}
	if project, err = b.Dirs.Open(root); err != nil {
		return project, out, err
	}
	for _, ws := range b.Workspaces {
		if err := b.Dirs.Mark(ws.Path); err != nil {
			return project, out, err
		}
	}
	for _, write := range total.Remember {
		if err := write(); err != nil {
			return project, out, err
		}
	}
	all := slices.Concat(total.state, out.state)
	items := make([]state.Item, len(all))
	for i, k := range all {
		items[i] = b.itemOf(k)
	}
	placed, err := project.Ensure(items)
	if err != nil {
		return project, out, err
	}
	for i, pl := range placed {
		if pl.Aside != "" {
			out.Notice("in the project's state, " + plan.Show(all[i].Path) + " was not what it should be and was set aside")
		}
		out.bindState(b.User.Home, all[i], pl)
	}
	out.layReady(project, total)
	return project, out, nil
}

// itemOf is where an item lies in the project's state. A file goes to another machine with its
// first content alone: sessions on this one keep prompts and accounts in it. Nothing comes
// back from there, so what lies apart stays as it began.
func (b *Base) itemOf(k stateItem) state.Item {
	if b.Machine() != nil && !k.Dir && k.why != "" {
		k.Path = filepath.Join(".elsewhere", k.Path)
	}
	return k.Item
}

// layReady shows what is ready below private directories that have no packages yet. One that
// has needs none, and what an overlay leaves in its layer is for an overlay alone: the
// layer is therefore another directory, which nothing else ever shows.
func (c *Contribution) layReady(project *state.Project, total Contribution) {
	for _, k := range total.Caches {
		i := slices.IndexFunc(c.Mounts, func(m plan.Mount) bool { return m.Dst == k.At })
		if i < 0 || len(k.Held.Paths) == 0 || total.below(k.At) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(c.Mounts[i].Src, k.Sign)); !os.IsNotExist(err) {
			continue
		}
		if upper, work, ok := project.Layer(filepath.Base(k.At)); ok {
			c.Mounts[i].Layer, c.Mounts[i].Below = &plan.Layer{Upper: upper, Work: work}, k.Held.Paths
		}
	}
}

// below holds where something else is shown at a place, or below it.
func (c *Contribution) below(at string) bool {
	return slices.ContainsFunc(c.Mounts, func(m plan.Mount) bool { return file.Within(m.Dst, at) }) ||
		slices.ContainsFunc(c.Files, func(f plan.File) bool { return file.Within(f.Dst, at) }) ||
		slices.ContainsFunc(c.Masks, func(m plan.Mask) bool { return file.Within(m.Path, at) })
}

// mountPoints are what must exist in the project's state because something is
// mounted there: nothing is ever created in a tree that came from the host, and
// this is the one such tree that is ours.
func mountPoints(b Base, total Contribution) (out []stateItem, err error) {
	add := func(dst string, dir bool) {
		for _, k := range total.state {
			if at := filepath.Join(b.User.Home, k.Path); k.Dir && dst != at && file.Within(dst, at) {
				out = append(out, keptPoint(dst[len(b.User.Home)+1:], dir))
				return
			}
		}
	}
	for _, m := range total.Mounts {
		if file.Within(m.Src, b.Work.Dir()) { // made when the session begins
			add(m.Dst, m.Src == b.Work.CloneDir())
			continue
		}
		st, err := os.Stat(m.Src)
		if err != nil {
			return nil, err
		}
		add(m.Dst, st.IsDir())
	}
	for _, f := range total.Files {
		add(f.Dst, false)
	}
	return out, nil
}

func keptPoint(rel string, dir bool) stateItem {
	return stateItem{state.Item{Path: rel, Dir: dir}, ""}
}

func (c *Contribution) bindState(home string, k stateItem, pl state.Placed) {
	if k.why == "" {
		return
	}
	m := plan.Mount{Src: pl.Path, Dst: filepath.Join(home, k.Path), Write: true, Why: k.why}
	if pl.Ino != 0 {
		m.ID = &plan.Identity{Dev: pl.Dev, Ino: pl.Ino}
	}
	c.Mounts = append(c.Mounts, m)
}
