package review

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/safe"
	"ringfence.dev/ringfence/internal/state"
)

// CloneDir is where the clone of a session is, if it works in one.
func (f folder) CloneDir() string { return filepath.Join(f.dir, "clone") }

// Branch is what the clone of a session begins on.
func (w *Work) Branch() string { return "ringfence/" + w.ID }

// gitTime bounds one call of git: a clone copies the whole history.
const gitTime = 10 * time.Minute

// host is the git of the host, where neither this session nor another could have put it.
func (w *Work) host() safe.Git {
	written := []string{w.Source, w.Project, w.dir}
	for _, t := range w.Trees {
		written = append(written, t.Path)
	}
	d := state.Dirs{State: filepath.Dir(filepath.Dir(w.dir))}
	at, err := d.Program("git", os.Getenv("PATH"), state.Below(written...))
	if err != nil {
		return ""
	}
	return safe.Git(at)
}

// git runs git on the host. Nothing that a repository could make it run is in
// force: its hooks and its monitor are off, the user's settings are not read.
func (w *Work) git(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTime)
	defer cancel()
	return w.host().Run(ctx, dir, args...)
}

// MakeClone clones the repository at source into the session's state, on a branch
// of the session's name. Objects are copied: a hard link could be written through.
func (w *Work) MakeClone(source string) error {
	w.Source = source
	if err := w.save(); err != nil {
		return err
	}
	dir := w.CloneDir()
	if _, err := w.git(source, "clone", "-q", "--local", "--no-hardlinks", "--origin", "host", "--", source, dir); err != nil {
		return err
	}
	if _, err := w.git(dir, "checkout", "-q", "-b", w.Branch()); err != nil {
		return err
	}
	if err := w.copyIdentity(source, dir); err != nil {
		return err
	}
	return w.copyRemotes(source, dir)
}

// copyIdentity lets the clone commit as its source does, where that has a name of its own.
func (w *Work) copyIdentity(source, dir string) error {
	for _, key := range []string{"user.name", "user.email"} {
		value, err := w.git(source, "config", "--local", "--no-includes", "-z", "--get", key)
		if err != nil {
			continue // there is none
		}
		if _, err := w.git(dir, "config", "--local", key, strings.TrimSuffix(value, "\x00")); err != nil {
			return err
		}
	}
	return nil
}

// copyRemotes gives the clone the remotes of its source, so that a push goes where
// one from the source would.
func (w *Work) copyRemotes(source, dir string) error {
	out, err := w.git(source, "config", "-z", "--get-regexp", `^remote\..*\.url$`)
	if err != nil {
		return nil // there is none
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		key, url, _ := strings.Cut(entry, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".url")
		if name == "host" || strings.HasPrefix(name, "-") || filepath.IsAbs(url) && strings.Contains(url, "/sessions/") {
			continue // the clones of other sessions
		}
		if _, err := w.git(dir, "remote", "add", "--", name, url); err != nil {
			return err
		}
	}
	return nil
}

// unfetched says whether the clone has commits that no branch or tag of its source has.
// What was fetched and is on none goes with the remote, and would be lost. What the clone
// has is asked for as any fetch would.
func (w *Work) unfetched() (bool, error) {
	source, id, clone := w.Source, w.ID, w.CloneDir()
	if source == "" {
		return false, nil
	}
	if _, err := os.Lstat(clone); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	out, err := w.git(source, "ls-remote", "--heads", "--tags", "--", clone)
	if err != nil {
		return true, err
	}
	ask := []string{"rev-list", "--max-count=1"}
	for line := range strings.Lines(out) {
		commit, _, _ := strings.Cut(line, "\t")
		if _, err := w.git(source, "cat-file", "-e", commit); err != nil {
			return true, nil
		}
		ask = append(ask, commit)
	}
	if len(ask) == 2 {
		return false, nil
	}
	left, err := w.git(source, append(ask, "--not", "--exclude=refs/remotes/"+id+"/*", "--all")...)
	return left != "" || err != nil, err
}

// dropClone takes the remote away again.
func (w *Work) dropClone() error {
	source, id, clone := w.Source, w.ID, w.CloneDir()
	if source == "" {
		return nil
	}
	if out, err := w.git(source, "remote", "get-url", "--", id); err == nil && strings.TrimSpace(out) == clone {
		if _, err := w.git(source, "remote", "remove", "--", id); err != nil {
			return err
		}
	}
	return file.RemoveTree(clone)
}
