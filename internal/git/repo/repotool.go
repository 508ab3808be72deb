package repo

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The tool `repo`, with which Android is fetched, keeps the git directory of the worktree
// ROOT/PATH at ROOT/.repo/projects/PATH.git, makes PATH/.git a link to it, and writes no
// core.worktree there. The place alone says whose it is: no session in ROOT/PATH can make a
// directory below ROOT/.repo, and one in ROOT had all of it before.

const repoTool = ".repo"

// placedFor says whether a git directory lies where the tool keeps that of the worktree at,
// and returns ROOT.
func (d *dir) placedFor(at *dir) (root string, ok bool) {
	root, rest, ok := strings.Cut(d.path, "/"+repoTool+"/projects/")
	if !ok || root == "" || strings.Contains(rest, "/"+repoTool+"/") {
		return "", false
	}
	path, ok := strings.CutSuffix(rest, ".git")
	return root, ok && path != "" && filepath.Join(root, path) == at.path
}

// sharedObjects is the directory in which the tool keeps the objects of a git directory, for
// all worktrees of one project: a link leads there. "" where there is none, or it leads
// anywhere else.
func (f finder) sharedObjects(gd *dir, root string) string {
	target, err := gd.readlink("objects")
	if err != nil {
		return ""
	}
	objects, err := gd.resolve(target)
	if err != nil {
		return ""
	}
	defer objects.close()
	store := filepath.Dir(objects.path)
	below := filepath.Join(root, repoTool, "project-objects") + "/"
	if filepath.Base(objects.path) != "objects" || !strings.HasPrefix(store, below) || !strings.HasSuffix(store, ".git") || !f.owns(objects.uid) || objects.dev != gd.dev {
		return ""
	}
	d, err := openDir(unix.AT_FDCWD, store, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return ""
	}
	defer d.close()
	if !f.owns(d.uid) {
		return ""
	}
	return store
}
