package hook

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/git/safe"
)

// Bounds of all looks at repositories for one call: the agent waits for it, and gives up on a
// hook that takes too long, which would let the call pass.
const (
	workTime  = 4 * time.Second
	maxIndex  = 256 << 20
	maxCount  = 20000 // files of a directory whose sizes are added
	maxTarget = 200   // what a pattern may lead to
)

// Worktrees tells what of the repositories on this machine no commit has. git is the program
// that looks at a worktree.
func Worktrees(home string, git func(tree string) safe.Git) func(dir string, paths []string, ignored bool) ([]Unsaved, error) {
	var until time.Time
	return func(dir string, paths []string, ignored bool) ([]Unsaved, error) {
		if until.IsZero() {
			until = time.Now().Add(workTime)
		}
		ctx, cancel := context.WithDeadline(context.Background(), until)
		defer cancel()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		targets, err := spread(paths)
		if err != nil || len(paths) > 0 && len(targets) == 0 {
			return nil, err
		}
		out, root, err := unsaved(ctx, git, dir, home, targets, ignored)
		for _, t := range targets { // a repository of its own goes with all that is in it
			if _, e := os.Lstat(filepath.Join(t, ".git")); e == nil && err == nil && t != root {
				var more []Unsaved
				more, _, err = unsaved(ctx, git, t, home, nil, ignored)
				out = append(out, more...)
			}
		}
		return out, err
	}
}

// spread is what there is of the paths, patterns as a shell would take them.
func spread(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		found := []string{p}
		if strings.ContainsAny(p, "*?[") {
			found, _ = filepath.Glob(p)
		}
		found = slices.DeleteFunc(found, func(f string) bool { _, err := os.Lstat(f); return err != nil })
		if out = append(out, found...); len(out) > maxTarget {
			return nil, errors.New("these are too many files to look at")
		}
	}
	return out, nil
}

// unsaved asks one repository, and says which.
func unsaved(ctx context.Context, git func(string) safe.Git, dir, home string, targets []string, ignored bool) (out []Unsaved, root string, err error) {
	for { // what is not there yet is looked for from where it would be
		if _, err := os.Stat(dir); err == nil || dir == "/" {
			break
		}
		dir = filepath.Dir(dir)
	}
	r, err := repo.Find(dir, home)
	if r == nil || err != nil || r.WorkTree == "" || r.GitDir == "" {
		return nil, "", err
	}
	t := safe.Tree{Path: r.WorkTree, Objects: filepath.Join(r.CommonDir, "objects"), Head: repo.Head(r)}
	if r.Objects != "" {
		t.Objects = r.Objects
	}
	index := filepath.Join(r.GitDir, "index")
	if info, err := os.Stat(index); err == nil {
		t.Seen = info.ModTime() // first: a later one would hide changes
	}
	if t.Index, err = file.Read(index, maxIndex, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	t.Exclude, _ = file.Read(filepath.Join(r.CommonDir, "info/exclude"), 1<<20, 0)
	found, err := git(t.Path).Changes(ctx, t, "", ignored, targets...)
	if errors.Is(err, safe.ErrNoGit) {
		return nil, "", nil
	}
	for _, c := range found {
		size, largest, there := weigh(ctx, filepath.Join(r.WorkTree, c.Path))
		if !there && !c.Staged {
			continue // it is gone already
		}
		out = append(out, Unsaved{Path: c.Path, Size: size, Largest: largest, Tracked: c.Staged || c.Changed, Ignored: c.Ignored})
	}
	return out, r.WorkTree, err
}

// weigh adds up the files of a tree. A large one weighs more than anything keeps.
func weigh(ctx context.Context, path string) (size, largest int64, there bool) {
	left := maxCount
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone, or not ours to read
		}
		there = true
		if left--; left < 0 || ctx.Err() != nil {
			return errors.New("enough")
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
			largest = max(largest, info.Size())
		}
		return nil
	})
	if err != nil {
		return 1 << 62, 1 << 62, true
	}
	return size, largest, there
}
