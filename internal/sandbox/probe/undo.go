package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/git/object"
)

// Undone is the directory of the workspace that is changed to be brought back: a
// repository, and the files that are named here.
const (
	Undone       = "undone"
	UndoChanged  = "changed"
	UndoDeleted  = "deleted"
	UndoMoved    = "moved"
	UndoBoth     = "both" // the host goes on with it after the session
	UndoMovedTo  = "moved-to"
	UndoCreated  = "created"
	UndoBelow    = "new/created"
	UndoHead     = ".git/refs/heads/main"
	UndoBranch   = ".git/refs/heads/session"
	undoneText   = "of the session\n"
	undoneAuthor = "A Session <session@ringfence.test> 1700000000 +0000"
)

// undo changes what can be brought back. Only who keeps the trees can be told before:
// the mount must be read-only, so that nothing changes past him, and the changes must
// work all the same. The witness outside has them undone and compares.
func undo(t *Target) Result {
	const name = "undo"
	if err := Change(filepath.Join(string(t.Workspace), Undone)); err != nil {
		return open(name, "work is not possible: %v", err)
	}
	if t.Review {
		return closed(name, "changed, and all of it waits")
	}
	var st unix.Statfs_t
	if err := unix.Statfs(string(t.Workspace), &st); err != nil {
		return open(name, "%v", err)
	}
	if st.Flags&unix.ST_RDONLY == 0 {
		return open(name, "changed past the undo store: the mount is writable")
	}
	return closed(name, "changed by the keeper alone: the mount is read-only")
}

// Change does to the directory what a session does: it changes, deletes, renames and
// makes files, and commits.
func Change(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	return errors.Join(
		os.WriteFile(at(UndoChanged), []byte(undoneText), 0o600),
		os.WriteFile(at(UndoBoth), []byte(undoneText), 0o600),
		os.Remove(at(UndoDeleted)),
		os.Rename(at(UndoMoved), at(UndoMovedTo)),
		os.WriteFile(at(UndoCreated), []byte(undoneText), 0o600),
		os.Mkdir(filepath.Dir(at(UndoBelow)), 0o700),
		os.WriteFile(at(UndoBelow), []byte(undoneText), 0o600),
		commit(dir),
	)
}

// commit makes a commit on the branch that is checked out, and another branch there, as
// git does it.
func commit(dir string) error {
	parent, err := os.ReadFile(filepath.Join(dir, UndoHead))
	if err != nil {
		return err
	}
	tree, file := Loose(object.Tree, nil)
	id, object := Loose(object.Commit, Commit(tree, strings.TrimSpace(string(parent))))
	for _, f := range []struct{ path, text string }{
		{".git/" + LooseName(tree), string(file)}, {".git/" + LooseName(id), string(object)},
		{UndoHead, id + "\n"}, {UndoBranch, id + "\n"},
	} {
		if err := (gitFile{path: f.path, text: f.text, lock: true}).make(dir); err != nil {
			return err
		}
	}
	return nil
}

// Commit is the content of one. Without a parent it is a first one.
func Commit(tree, parent string) []byte {
	text := "tree " + tree + "\n"
	if parent != "" {
		text += "parent " + parent + "\n"
	}
	return []byte(text + "author " + undoneAuthor + "\ncommitter " + undoneAuthor + "\n\nA commit\n")
}
