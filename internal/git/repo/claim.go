package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/settings"
)

const repairHint = "if this is a linked worktree, run `git worktree repair` in its main repository"

// follow judges the directory that at/.git points to. A pointer alone proves
// nothing (the agent may have written it), so the target has to claim at.
func (f finder) follow(at *dir, target string) (*Repo, error) {
	gd, err := at.resolve(target)
	if err != nil {
		return nil, refuse(repairHint, "%q points to %q: %w", at.path+"/.git", target, unwrapPath(err))
	}
	defer gd.close()
	if err := f.grantable(gd); err != nil {
		return nil, err
	}
	if gd.has("commondir") {
		return f.linked(at, gd)
	}
	return f.separate(at, gd)
}

// grantable refuses directories that must never be opened to an agent because
// of where they are, whose they are, or what they hold.
func (f finder) grantable(d *dir) error {
	switch {
	case f.tooHigh(d.path):
		return refuse("point .git at a repository of its own",
			"git directory %q would open the home directory or more", d.path)
	case !f.owns(d.uid):
		return refuse("change the owner of the git directory, or work in a clone of your own",
			"git directory %q belongs to another user", d.path)
	case !d.isGitDir():
		return refuse(repairHint, "%q is not a git directory", d.path)
	}
	return nil
}

// linked judges a worktree made by `git worktree add`: <common>/worktrees/<name>
// holds a gitdir file that names at/.git.
func (f finder) linked(at, gd *dir) (*Repo, error) {
	common, err := f.commonOf(gd)
	if err != nil {
		return nil, refuse(repairHint, "git directory %q: %w", gd.path, err)
	}
	defer common.close()
	if err := f.grantable(common); err != nil {
		return nil, err
	}
	if err := gd.backPointer(at); err != nil {
		return nil, refuse(repairHint, "git directory %q does not belong to worktree %q: %w", gd.path, at.path, err)
	}
	kind := Worktree
	if isModule(common.path) {
		kind = WorktreeOfSubmodule
	}
	return &Repo{Kind: kind, WorkTree: at.path, GitDir: gd.path, CommonDir: common.path, Main: mainOf(common.path)}, nil
}

// commonOf returns the repository of a linked worktree. The commondir file must
// say what git always writes there; anything else could name any repository.
func (f finder) commonOf(gd *dir) (*dir, error) {
	parent := filepath.Dir(gd.path)
	text, err := gd.readPath("commondir")
	if err != nil {
		return nil, err
	}
	common, err := gd.resolve(text)
	if err != nil {
		return nil, err
	}
	if filepath.Base(parent) != "worktrees" || common.path != filepath.Dir(parent) || common.has("commondir") {
		common.close()
		return nil, fmt.Errorf("commondir %q is not the repository that holds it", text)
	}
	return common, nil
}

// separate judges a git directory without worktrees/: that of a submodule, or of
// `git init --separate-git-dir` once core.worktree names the worktree, or one
// inside the worktree itself, which needs no claim because nothing is granted.
func (f finder) separate(at, gd *dir) (*Repo, error) {
	claim, err := gd.coreWorktree()
	if err != nil {
		return nil, refuse("correct the file with `git config --edit`", "config of git directory %q: %w", gd.path, err)
	}
	repo := &Repo{Kind: Separate, WorkTree: at.path, GitDir: gd.path, CommonDir: gd.path, Main: mainOf(gd.path)}
	if root, ok := gd.placedFor(at); ok && claim == "" {
		repo.Objects = f.sharedObjects(gd, root)
		return repo, nil
	}
	if claim == "" {
		if !file.Within(gd.path, at.path) || filepath.Base(gd.path) == ".git" {
			return nil, refuse(fmt.Sprintf("if they belong together: git --git-dir=%q config core.worktree %q", gd.path, at.path),
				"git directory %q does not name worktree %q", gd.path, at.path)
		}
		repo.Kind = Plain
		return repo, nil
	}
	if err := gd.names(claim, at); err != nil {
		return nil, refuse("run `git submodule update` in the superproject, or correct core.worktree",
			"git directory %q belongs to another worktree: %w", gd.path, err)
	}
	if isModule(gd.path) {
		repo.Kind = Submodule
	}
	return repo, nil
}

// backPointer checks that the gitdir file of a linked worktree names at/.git.
func (d *dir) backPointer(at *dir) error {
	text, err := d.readPath("gitdir")
	if err != nil {
		return err
	}
	worktree, ok := strings.CutSuffix(text, "/.git")
	if !ok || worktree == "" {
		return fmt.Errorf("it names %q", text)
	}
	return d.names(worktree, at)
}

// names checks that path, as seen from d, is the directory at.
func (d *dir) names(path string, at *dir) error {
	there, err := d.resolve(path)
	if err != nil {
		return fmt.Errorf("it names %q: %w", path, unwrapPath(err))
	}
	defer there.close()
	if !there.same(at) {
		return fmt.Errorf("it names %q", there.path)
	}
	return nil
}

// coreWorktree reads that one key. With extensions.worktreeConfig git keeps it
// in config.worktree. Includes are not followed: git does not either, for this key.
func (d *dir) coreWorktree() (string, error) {
	value, perWorktree, err := d.worktreeKey("config")
	if err != nil || !perWorktree {
		return value, err
	}
	over, _, err := d.worktreeKey("config.worktree")
	if over != "" {
		value = over
	}
	return value, err
}

func (d *dir) worktreeKey(file string) (value string, perWorktree bool, err error) {
	b, err := d.read(file, settings.MaxGitBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	entries, err := settings.ParseGit(b)
	for _, e := range entries {
		switch e.Key {
		case "core.worktree":
			value = e.Value
		case "extensions.worktreeconfig":
			perWorktree = e.IsTrue()
		}
	}
	return value, perWorktree, err
}

// isModule reports whether a git directory lies in another one's modules.
func isModule(path string) bool {
	for p := filepath.Dir(path); p != "/"; p = filepath.Dir(p) {
		if filepath.Base(p) != "modules" {
			continue
		}
		d, err := openDir(unix.AT_FDCWD, filepath.Dir(p), unix.RESOLVE_NO_SYMLINKS)
		if err != nil {
			return false
		}
		ok := d.isGitDir()
		d.close()
		if ok {
			return true
		}
	}
	return false
}

// isGitDir tells git directories from others by git's own test, and no more:
// it says what a directory is, not whether anybody may have it.
func (d *dir) isGitDir() bool {
	return d.validHead() && (d.has("commondir") || d.holds("objects") && d.holds("refs"))
}

func (d *dir) holds(name string) bool {
	st, err := d.lstat(name)
	return err == nil && (st.Mode&unix.S_IFMT == unix.S_IFDIR || st.Mode&unix.S_IFMT == unix.S_IFLNK)
}

func (d *dir) validHead() bool {
	if link, err := d.readlink("HEAD"); err == nil {
		return strings.HasPrefix(link, "refs/")
	}
	b, err := d.read("HEAD", maxPath)
	if err != nil {
		return false
	}
	if ref, ok := bytes.CutPrefix(b, []byte("ref:")); ok {
		return bytes.HasPrefix(bytes.TrimLeft(ref, " \t\r\n"), []byte("refs/"))
	}
	return len(b) >= 40 && len(bytes.Trim(b[:40], "0123456789abcdefABCDEF")) == 0
}

// unwrapPath drops the "open PATH" of an error whose path is told already.
func unwrapPath(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
