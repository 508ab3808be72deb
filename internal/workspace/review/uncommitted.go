package review

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/git/safe"
)

// Uncommitted counts the files of the clone that differ from its last commit: no fetch gets
// them, and they go with the session. The index of the clone is the session's work, and is
// not read.
func (w *Work) Uncommitted() (int, error) {
	clone := w.CloneDir()
	if _, err := os.Lstat(clone); w.Source == "" || err != nil {
		return 0, nil
	}
	if err := plainClone(clone); err != nil {
		return 0, err
	}
	head, err := w.git(w.dir, "ls-remote", "--", clone, "HEAD")
	if err != nil {
		return 0, err
	}
	commit, _, _ := strings.Cut(head, "\t")
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	tree := safe.Tree{Path: clone, Objects: filepath.Join(clone, ".git/objects"), Head: commit}
	changed, err := w.host().Changes(ctx, tree, w.dir, false)
	return len(changed), err
}
