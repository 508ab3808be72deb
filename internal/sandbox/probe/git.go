package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/git/object"
)

// git makes what has made git on the host run something: git directories where
// nobody looks for one and ways to them, hooks, settings, and an index that has git
// write a hook. Each may work, on another file system than the workspace, or be
// refused. What was made stays: the witness outside looks at the tree after the end
// of the session, when what git needs has been applied.
func git(t *Target) Result {
	const name = "git"
	var dir unix.Stat_t
	if err := unix.Stat(filepath.Join(string(t.Workspace), ".git"), &dir); err != nil {
		return open(name, "there is no repository: %v", err)
	}
	var live []string
	made, refused := 0, 0
	attacks, loose := hostileGit(string(t.Ran))
	loose.make(string(t.Workspace)) // without it, less is attacked
	for _, f := range attacks {
		var file unix.Stat_t
		err := f.make(string(t.Workspace))
		if err == nil {
			err = unix.Lstat(filepath.Join(string(t.Workspace), f.path), &file)
		}
		switch {
		case err != nil:
			refused++
		case file.Dev == dir.Dev && !t.Review:
			live = append(live, f.path)
		default:
			made++
		}
	}
	if len(live) > 0 {
		return open(name, "on the file system of the workspace: %s", strings.Join(live, ", "))
	}
	return closed(name, "%d made, in a layer of its own; %d refused", made, refused)
}

// gitFile is one file of an attack.
type gitFile struct {
	path string
	text string
	link bool // text is where it leads
	exec bool
	more bool // text goes behind what is there
	lock bool // as git writes: into a file beside it, which then gets the name
}

// hostileGit lists the files of the attacks, the least that each needs, and an object
// for one of them, which harms nobody by itself. Whoever runs them makes the file ran.
func hostileGit(ran string) (attacks []gitFile, loose gitFile) {
	command := "touch '" + ran + "'"
	script := "#!/bin/sh\n" + command + "\n"
	settings := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"" + command + "\"\n"
	blob, data := Loose(object.Blob, []byte(script))
	index, err := Index(".git/hooks/post-checkout", blob)
	if err != nil {
		panic(err) // the name of an object that we made ourselves
	}
	loose = gitFile{path: ".git/" + LooseName(blob), text: string(data), lock: true}
	attacks = []gitFile{
		// A git directory among the objects, another that shares what it has, and a way there.
		{path: ".git/objects/cc/HEAD", text: "ref: refs/heads/main\n"},
		{path: ".git/objects/cc/config", text: settings},
		{path: ".git/objects/cc/objects/x", text: "\n"},
		{path: ".git/objects/cc/refs/x", text: "\n"},
		{path: ".git/objects/gg/HEAD", text: "ref: refs/heads/main\n"},
		{path: ".git/objects/gg/commondir", text: "../cc\n"},
		{path: "sub/.git", text: "gitdir: ../.git/objects/gg\n"},
		// The same by a link, where only text is expected.
		{path: ".git/logs/lnk", text: "../objects/cc", link: true},
		{path: "linked/.git", text: "gitdir: ../.git/logs/lnk\n"},
		// A worktree that shares what another directory has.
		{path: ".git/worktrees/x/HEAD", text: "ref: refs/heads/main\n"},
		{path: ".git/worktrees/x/commondir", text: "../../objects/cc\n"},
		{path: ".git/worktrees/x/gitdir", text: "../../../tree/.git\n"},
		{path: "tree/.git", text: "gitdir: ../.git/worktrees/x\n"},
		// What git runs by name, and what it is told to run.
		{path: ".git/hooks/post-checkout", text: script, exec: true},
		{path: ".git/config", text: settings, more: true},
		// git writes what its index names, wherever that is.
		{path: ".git/index", text: string(index), lock: true},
	}
	return attacks, loose
}

func (f gitFile) make(root string) error {
	name := filepath.Join(root, f.path)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if f.link {
		return os.Symlink(f.text, name)
	}
	flags, mode, to := os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(0o600), name
	switch {
	case f.more:
		flags = os.O_WRONLY | os.O_APPEND
	case f.exec:
		mode = 0o700
	case f.lock:
		to = f.beside(name)
	}
	out, err := os.OpenFile(to, flags, mode)
	if err != nil {
		return err
	}
	_, err = out.WriteString(f.text)
	if err = errors.Join(err, out.Close()); err != nil || !f.lock {
		return err
	}
	if err := os.Rename(to, name); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// beside is the name under which git begins to write a file.
func (f gitFile) beside(name string) string {
	if strings.Contains(f.path, ".git/objects/") {
		return filepath.Join(filepath.Dir(name), "tmp_obj_A1b2C3")
	}
	return name + ".lock"
}
