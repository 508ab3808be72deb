package session

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

// placeState makes the project's state ready and binds it. A look makes nothing:
// it shows where things would be.
func (s *Session) placeState(total Contribution) (out Contribution, err error) {
	if s.asked.Passing {
		return out, nil
	}
	root := s.stateRoot()
	if s.asked.Look {
		home := filepath.Join(s.dirs.State, "projects", state.Key(root), "home")
		for _, k := range total.state {
			out.bindState(s.User.Home, k, state.Placed{Path: filepath.Join(home, k.Path)})
		}
		return out, nil
	}
	if out.state, err = s.mountPoints(total); err != nil {
		return out, err
	}
	if s.project, err = s.dirs.Open(root); err != nil {
		return out, err
	}
	for _, ws := range s.Workspaces {
		if err := s.dirs.Mark(ws.Path); err != nil {
			return out, err
		}
	}
	for _, write := range total.remember {
		if err := write(); err != nil {
			return out, err
		}
	}
	all := slices.Concat(total.state, out.state)
	items := make([]state.Item, len(all))
	for i, k := range all {
		items[i] = k.Item
	}
	placed, err := s.project.Ensure(items)
	if err != nil {
		return out, err
	}
	for i, pl := range placed {
		if pl.Aside != "" {
			out.notice("in the project's state, " + plan.Show(all[i].Path) + " was not what it should be and was set aside")
		}
		out.bindState(s.User.Home, all[i], pl)
	}
	return out, nil
}

// mountPoints are what must exist in the project's state because something is
// mounted there: nothing is ever created in a tree that came from the host, and
// this is the one such tree that is ours.
func (s *Session) mountPoints(total Contribution) (out []stateItem, err error) {
	add := func(dst string, dir bool) {
		for _, k := range total.state {
			if at := filepath.Join(s.User.Home, k.Path); k.Dir && dst != at && file.Within(dst, at) {
				out = append(out, keptPoint(dst[len(s.User.Home)+1:], dir))
				return
			}
		}
	}
	for _, m := range total.mounts {
		if file.Within(m.Src, s.work.Dir()) { // made when the session begins
			add(m.Dst, m.Src == s.work.CloneDir())
			continue
		}
		st, err := os.Stat(m.Src)
		if err != nil {
			return nil, err
		}
		add(m.Dst, st.IsDir())
	}
	for _, f := range total.files {
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
	c.mounts = append(c.mounts, m)
}

// Close lets go of the project's state.
func (s *Session) Close() error {
	if s.project == nil {
		return nil
	}
	return s.project.Close()
}
