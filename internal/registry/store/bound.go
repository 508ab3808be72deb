package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Most is how large the store becomes: what was not used longest goes first.
const Most = 5 << 30

// kept is a file of the store.
type kept struct {
	path string
	size int64
	used time.Time
}

// Excess is what would have to go for the store to be at most so large, the oldest
// first, and how much all of it is. What nobody is writing any more goes in any case.
func (s *Store) Excess(most int64, now time.Time) (paths []string, excess, total int64, err error) {
	var all []kept
	err = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path == filepath.Join(s.dir, "ready") {
			return fs.SkipDir // what is made of blobs is counted by who makes it
		}
		if err != nil || d.IsDir() {
			return skipMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return skipMissing(err)
		}
		if filepath.Base(filepath.Dir(path)) == "new" {
			if now.Sub(info.ModTime()) > 24*time.Hour {
				paths, excess = append(paths, path), excess+info.Size()
			}
			return nil
		}
		all, total = append(all, kept{path, info.Size(), info.ModTime()}), total+info.Size()
		return nil
	})
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	left := total
	for _, k := range all {
		if left <= most {
			break
		}
		paths, excess, left = append(paths, k.path), excess+k.size, left-k.size
	}
	return paths, excess, total, err
}

func skipMissing(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
