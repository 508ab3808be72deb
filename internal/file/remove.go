package file

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveTree removes a directory with all that is in it, also what overlayfs or an agent
// left without permissions. A link is removed, not followed. Nobody else may be writing in
// it.
func RemoveTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
