package ready

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// tidy removes what is over, and makes one layer of too many.
func (v *View) tidy(now time.Time) error {
	f := hold(v.dir, unix.LOCK_EX)
	if f == nil {
		return nil // another session does
	}
	defer f.Close()
	var old []layer
	for _, l := range layers(v.dir) {
		if l.over(now) {
			if err := Drop(l.path); err != nil {
				return err
			}
			continue
		}
		old = append(old, l)
	}
	if len(old) <= maxLayers {
		return nil
	}
	return v.merge(old)
}

// merge makes one layer of those that no session shows.
func (v *View) merge(old []layer) error {
	free := &Held{}
	defer free.Close()
	one := layer{}
	for _, l := range old { // the youngest first, as they are shown
		if f := hold(l.path, unix.LOCK_EX); f != nil {
			free.Paths, free.locks = append(free.Paths, l.path), append(free.locks, f)
			one.since = max(one.since, l.since)
			if one.until == 0 || l.until < one.until {
				one.until = l.until
			}
		}
	}
	if len(free.Paths) < 2 {
		return nil
	}
	dir := filepath.Join(v.root, "new", rand.Text())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock := hold(dir, unix.LOCK_EX)
	if lock == nil {
		return nil // gc takes it for what was left behind
	}
	defer lock.Close()
	for _, from := range free.Paths {
		if err := linkTree(from, dir); err != nil {
			file.RemoveTree(dir)
			return err
		}
	}
	if err := v.publish(dir, one); err != nil {
		file.RemoveTree(dir)
		return err
	}
	for _, path := range free.Paths {
		if err := remove(path); err != nil {
			return err
		}
	}
	return nil
}

// linkTree has all files of a directory in another one too.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.Join(to, path[len(from):])
		if d.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		if err := os.Link(path, at); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// Drop removes a layer, unless it is shown or being made. It loses its name first: half of a
// layer is never seen.
func Drop(path string) error {
	f := hold(path, unix.LOCK_EX)
	if f == nil {
		return nil
	}
	defer f.Close()
	return remove(path)
}

// remove is Drop of what is locked.
func remove(path string) error {
	trash := filepath.Join(filepath.Dir(filepath.Dir(path)), "new", rand.Text())
	if err := os.MkdirAll(filepath.Dir(trash), 0o700); err != nil {
		return err
	}
	if err := os.Rename(path, trash); err != nil {
		return err
	}
	err := file.RemoveTree(trash)
	os.Remove(filepath.Dir(path)) // a view without layers is none
	return err
}

// kept is a layer and what it takes of the disk by itself.
type kept struct {
	path string
	size int64
	used time.Time
	over bool
}

// Excess is what would have to go for all layers to take at most so much, those first that
// were not used longest; how much that is, and what is left then. What is over goes in any
// case, and what a session that is gone left half made. Blobs that layers only link to are
// counted where they are kept.
func Excess(state string, most int64, now time.Time) (paths []string, excess, left int64) {
	root := filepath.Join(state, "registry", Dir)
	var all []kept
	views, _ := os.ReadDir(root)
	for _, view := range views {
		dir := filepath.Join(root, view.Name())
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			l, named := parseLayer(dir, e.Name())
			k := kept{path: filepath.Join(dir, e.Name()), over: view.Name() == "new" || named && l.over(now)}
			if info, err := e.Info(); err != nil || !e.IsDir() {
				continue
			} else {
				k.used = info.ModTime()
			}
			f := hold(k.path, unix.LOCK_EX)
			if f == nil {
				left += own(k.path)
				continue // it is shown, or being made
			}
			f.Close()
			k.size = own(k.path)
			all, left = append(all, k), left+k.size
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	for _, k := range all {
		if k.over || left > most {
			paths, excess, left = append(paths, k.path), excess+k.size, left-k.size
		}
	}
	return paths, excess, left
}

// own is what a layer takes of the disk that nobody else does.
func own(dir string) (size int64) {
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink == 1 {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
