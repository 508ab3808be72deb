package session

import (
	"os"
	"path/filepath"

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
func (d *draft) placeState() error {
	if d.opt.Passing {
		return nil
	}
	root := d.stateRoot()
	if d.opt.Look {
		home := filepath.Join(d.dirs.State, "projects", state.Key(root), "home")
		for _, k := range d.state {
			d.bindState(k, state.Placed{Path: filepath.Join(home, k.Path)})
		}
		return nil
	}
	if err := d.mountPoints(); err != nil {
		return err
	}
	var err error
	if d.project, err = d.dirs.Open(root); err != nil {
		return err
	}
	for _, ws := range d.Workspaces {
		if err := d.dirs.Mark(ws.Path); err != nil {
			return err
		}
	}
	for _, write := range d.remember {
		if err := write(); err != nil {
			return err
		}
	}
	items := make([]state.Item, len(d.state))
	for i, k := range d.state {
		items[i] = k.Item
	}
	placed, err := d.project.Ensure(items)
	if err != nil {
		return err
	}
	for i, pl := range placed {
		if pl.Aside != "" {
			d.notice("in the project's state, " + plan.Show(d.state[i].Path) + " was not what it should be and was set aside")
		}
		d.bindState(d.state[i], pl)
	}
	return nil
}

// mountPoints adds what must exist in the project's state because something is
// mounted there: nothing is ever created in a tree that came from the host, and
// this is the one such tree that is ours.
func (d *draft) mountPoints() error {
	kept := d.state
	add := func(dst string, dir bool) {
		for _, k := range kept {
			if at := filepath.Join(d.User.Home, k.Path); k.Dir && dst != at && file.Within(dst, at) {
				rel := dst[len(d.User.Home)+1:]
				d.state = append(d.state, keptPoint(rel, dir))
				return
			}
		}
	}
	for _, m := range d.mounts {
		if file.Within(m.Src, d.work.Dir()) { // made when the session begins
			add(m.Dst, m.Src == d.work.CloneDir())
			continue
		}
		st, err := os.Stat(m.Src)
		if err != nil {
			return err
		}
		add(m.Dst, st.IsDir())
	}
	for _, f := range d.files {
		add(f.Dst, false)
	}
	return nil
}

func keptPoint(rel string, dir bool) stateItem {
	return stateItem{state.Item{Path: rel, Dir: dir}, ""}
}

func (d *draft) bindState(k stateItem, pl state.Placed) {
	if k.why == "" {
		return
	}
	m := plan.Mount{Src: pl.Path, Dst: filepath.Join(d.User.Home, k.Path), Write: true, Why: k.why}
	if pl.Ino != 0 {
		m.ID = &plan.Identity{Dev: pl.Dev, Ino: pl.Ino}
	}
	d.mounts = append(d.mounts, m)
}

// Close lets go of the project's state.
func (s *Session) Close() error {
	if s.project == nil {
		return nil
	}
	return s.project.Close()
}
