package toolchain

import (
	"io/fs"
	"path/filepath"
	"sort"

	"ringfence.dev/ringfence/internal/file"
)

// finder gathers what one Find finds.
type finder struct {
	Input
	found Found
	seen  map[string]bool // what is on PATH, and toolchains that are shown
}

// Find goes through PATH and says what has to be visible for it to work.
func Find(in Input) Found {
	f := &finder{Input: in, seen: map[string]bool{}}
	for _, entry := range filepath.SplitList(in.Path) {
		f.entry(entry)
	}
	f.found.Roots = outermost(f.found.Roots)
	f.found.Hidden = f.inRoots(f.found.Hidden)
	f.settings()
	return f.found
}

// entry decides on one entry of PATH.
func (f *finder) entry(entry string) {
	if !filepath.IsAbs(entry) {
		f.drop(entry, "not absolute: it means another directory wherever it is used")
		return
	}
	dir := filepath.Clean(entry)
	if f.inWorkspace(dir) {
		f.keep(dir)
		return
	}
	if info, err := f.Look.Stat(dir); err != nil || !info.IsDir() {
		f.drop(entry, "no such directory")
		return
	}
	resolved, err := f.Look.Resolve(dir)
	if err != nil {
		f.drop(entry, "no such directory")
		return
	}
	if reason := f.refused(dir, resolved); reason != "" {
		f.drop(entry, reason)
		return
	}
	// The name itself first: a toolchain behind a symlink keeps its own place.
	for _, name := range []string{dir, resolved} {
		if f.visible(name) || f.known(name) {
			f.keep(name)
			return
		}
	}
	if reason := f.against(dir, resolved); reason != "" {
		f.drop(entry, reason)
		return
	}
	f.root(dir, "PATH")
	f.keep(dir)
}

func (f *finder) drop(entry, reason string) {
	f.found.Dropped = append(f.found.Dropped, Dropped{entry, reason})
}

// keep puts a visible directory on PATH and follows the links in it, as far as a
// known toolchain lies behind them.
func (f *finder) keep(dir string) {
	if f.seen[dir] {
		return
	}
	f.seen[dir] = true
	f.found.Path = append(f.found.Path, dir)
	if dir == "/usr/local/bin" || !bySystem(dir) && !f.inWorkspace(dir) {
		f.links(dir)
	}
}

// maxEntries bounds how much of a directory is looked through.
const maxEntries = 4096

// links finds the toolchains that a directory of symlinks leads to: ~/.local/bin
// is little else. A link to an unknown place is left to dangle.
func (f *finder) links(dir string) {
	entries, err := f.Look.ReadDir(dir)
	if err != nil || len(entries) > maxEntries {
		return
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := f.Look.Resolve(filepath.Join(dir, e.Name()))
		if err == nil && !f.visible(target) {
			f.known(filepath.Dir(target))
		}
	}
}

// root adds one path to what is visible, if it exists and is not yet.
func (f *finder) root(path, why string) {
	if resolved, err := f.Look.Resolve(path); err == nil && !bySystem(path) {
		f.found.Roots = append(f.found.Roots, Root{path, resolved, why})
	}
}

// visible reports whether a path is in the view as far as it is known by now.
func (f *finder) visible(path string) bool {
	if bySystem(path) || f.inWorkspace(path) {
		return true
	}
	for _, r := range f.found.Roots {
		if file.Within(path, r.Path) {
			return true
		}
	}
	return false
}

// bySystem reports whether a path is in a directory that every sandbox has.
func bySystem(path string) bool {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if file.Within(path, dir) {
			return true
		}
	}
	return false
}

func (f *finder) inWorkspace(path string) bool {
	for _, ws := range f.Workspaces {
		if file.Within(path, ws) {
			return true
		}
	}
	return false
}

// outermost sorts roots and leaves out those that another one brings along.
func outermost(roots []Root) []Root {
	sort.Slice(roots, func(i, j int) bool { return roots[i].Path < roots[j].Path })
	var kept []Root
next:
	for _, r := range roots {
		for _, k := range kept {
			if file.Within(r.Path, k.Path) && r.Resolved == k.Resolved+r.Path[len(k.Path):] {
				continue next
			}
		}
		kept = append(kept, r)
	}
	return kept
}

// inRoots sorts paths and leaves out those that no root shows anyhow.
func (f *finder) inRoots(paths []string) []string {
	sort.Strings(paths)
	var kept []string
	for i, p := range paths {
		if f.visible(p) && (i == 0 || paths[i-1] != p) {
			kept = append(kept, p)
		}
	}
	return kept
}
