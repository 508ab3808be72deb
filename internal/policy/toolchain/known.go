package toolchain

import (
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/file"
)

// known shows the toolchains that a directory belongs to and reports whether the
// directory is visible by that. Where a toolchain lives decides before what it
// looks like.
func (f *finder) known(dir string) bool {
	parts := false // dir is the root of a toolchain that is shown in parts
	for _, c := range data().Toolchain {
		if root, listed := f.home(c, dir); root != "" {
			f.show(c, root, listed)
			parts = parts || root == dir && f.leads(dir)
		}
	}
	if parts || f.visible(dir) {
		return true
	}
	parent := filepath.Dir(dir)
	for _, c := range data().Toolchain {
		if len(c.Beside) > 0 && f.holds(parent, c.Beside) {
			f.show(c, parent, false)
		}
	}
	return f.visible(dir)
}

// home returns the root of the toolchain in which dir lies, or "", and whether
// the list names that very place, as against a variable or a "*".
func (f *finder) home(c chain, dir string) (root string, listed bool) {
	if moved := f.moved(c); moved != "" && file.Within(dir, moved) {
		return moved, false
	}
	for _, r := range c.Roots {
		if head, ok := above(r, f.Home, dir); ok {
			return head, head == inHome(r, f.Home)
		}
	}
	return "", false
}

// moved returns where a variable says that the toolchain lives, or "".
func (f *finder) moved(c chain) string {
	if c.Home == "" {
		return ""
	}
	root := filepath.Clean(f.Env(c.Home))
	byDefault := slices.ContainsFunc(c.Roots, func(r string) bool { return inHome(r, f.Home) == root })
	if !filepath.IsAbs(root) || byDefault {
		return ""
	}
	return root
}

// holds reports whether a directory has all of the names.
func (f *finder) holds(dir string, names []string) bool {
	for _, n := range names {
		if _, err := f.Look.Stat(filepath.Join(dir, n)); err != nil {
			return false
		}
	}
	return true
}

// show makes one toolchain visible at its root, with what it needs besides. What
// the list does not name letter by letter is judged like any directory on PATH.
func (f *finder) show(c chain, root string, listed bool) {
	instance := c.Name + "\x00" + root
	if f.seen[instance] {
		return
	}
	f.seen[instance] = true
	hidden, complete := f.expand(root, c.Hide)
	shown, _ := f.expand(root, c.Show)
	if !complete {
		return // something to hide may have been overlooked
	}
	for _, path := range shown {
		if !slices.Contains(hidden, path) && (listed || f.harmless(path)) {
			f.root(path, c.Name)
		}
	}
	f.found.Hidden = append(f.found.Hidden, hidden...)
	for _, path := range c.Also {
		f.root(inHome(path, f.Home), c.Name)
	}
	f.copies(c)
	for _, other := range data().Toolchain {
		if slices.Contains(c.With, other.Name) {
			f.companion(other)
		}
	}
}

func (f *finder) harmless(path string) bool {
	resolved, err := f.Look.Resolve(path)
	return err == nil && f.against(path, resolved) == ""
}

// companion shows a toolchain without which another one does not work.
func (f *finder) companion(c chain) {
	if moved := f.moved(c); moved != "" {
		f.show(c, moved, false)
		return
	}
	f.show(c, inHome(c.Roots[0], f.Home), true)
}
