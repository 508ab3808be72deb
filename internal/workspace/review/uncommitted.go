package review

import (
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Uncommitted counts the files of the clone that differ from its last commit: no fetch gets
// them, and they go with the session. The settings of the clone's repository are the
// session's and could name programs, so git compares from a repository of ours that only has the
// clone's objects; nested repositories are not looked into.
func (w *Work) Uncommitted() (int, error) {
	clone := w.CloneDir()
	if _, err := os.Lstat(clone); w.Source == "" || err != nil {
		return 0, nil
	}
	if err := plainClone(clone); err != nil {
		return 0, err
	}
	own, err := os.MkdirTemp(w.dir, "status-")
	if err != nil {
		return 0, err
	}
	defer file.RemoveTree(own)
	if _, err := git(own, "init", "-q", "."); err != nil {
		return 0, err
	}
	gitDir := filepath.Join(own, ".git")
	if err := os.WriteFile(filepath.Join(gitDir, "objects/info/alternates"), []byte(filepath.Join(clone, ".git/objects")+"\n"), 0o600); err != nil {
		return 0, err
	}
	here := []string{"--git-dir=" + gitDir, "--work-tree=" + clone}
	head, err := git(own, "ls-remote", "--", clone, "HEAD")
	if err != nil {
		return 0, err
	}
	if commit, _, ok := strings.Cut(head, "\t"); ok {
		if _, err := git(own, append(here, "read-tree", commit)...); err != nil {
			return 0, err
		}
	}
	// Against an empty branch every file of the index is new: what counts is the second column.
	out, err := git(own, append(here, "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")...)
	if err != nil {
		return 0, err
	}
	return differing(out), nil
}

// differing counts the entries of which the file is not as in the index.
func differing(status string) (n int) {
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) > 3 && entry[1] != ' ' {
			n++
		}
	}
	return n
}
