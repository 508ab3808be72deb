package safe

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/file"
)

// Tree is a worktree, and the commit that it is compared with.
type Tree struct {
	Path    string
	Objects string // where the objects of its repository lie
	Head    string // the commit; "": there is none yet
	// Index is what git last saw of the files. Without it, every file is read.
	Index []byte
	// Seen is when the index was written: git reads files that changed in the same moment.
	Seen time.Time
	// Exclude is what the repository passes over, beside its .gitignore files.
	Exclude []byte
}

// Change is a file or, where it ends with a slash, a directory that no commit has as it is.
type Change struct {
	Path    string // below the worktree
	Staged  bool   // it was added
	Changed bool   // the file is not as it was added
	New     bool   // git does not know it
	Ignored bool   // git passes over it
}

// Changes asks git what of a tree its commit does not have, below the given paths or all of
// it. git does so from a repository of ours that only borrows the objects: the settings of
// the other could name programs. Nested repositories are not looked into. temp is where our
// repository is made.
func (g Git) Changes(ctx context.Context, t Tree, temp string, ignored bool, paths ...string) ([]Change, error) {
	own, err := os.MkdirTemp(temp, "status-")
	if err != nil {
		return nil, err
	}
	defer file.RemoveTree(own)
	if err := t.borrow(own); err != nil {
		return nil, err
	}
	here := []string{"--git-dir=" + own, "--work-tree=" + t.Path, "--literal-pathspecs"}
	if t.Index == nil && t.Head != "" {
		if _, err := g.Run(ctx, own, append(here, "read-tree", t.Head)...); err != nil {
			return nil, err
		}
	}
	status := append(here, "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")
	if ignored {
		status = append(status, "--ignored")
	}
	out, err := g.Run(ctx, t.Path, append(append(status, "--"), paths...)...)
	return changes(out), err
}

// borrow makes a repository that has the objects, the commit and the index of the tree, and
// no setting but the format of its objects.
func (t Tree) borrow(own string) error {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if len(t.Head) == 64 {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n"
	}
	head := "ref: refs/heads/none\n"
	if t.Head != "" {
		head = t.Head + "\n"
	}
	files := map[string]string{"HEAD": head, "config": config, "objects/info/alternates": t.Objects + "\n", "info/exclude": string(t.Exclude)}
	if t.Index != nil {
		files["index"] = string(t.Index)
	}
	for _, dir := range []string{"objects/info", "refs", "info"} {
		if err := os.MkdirAll(filepath.Join(own, dir), 0o700); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if t.Index == nil {
		return nil
	}
	return os.Chtimes(filepath.Join(own, "index"), t.Seen, t.Seen)
}

func changes(status string) (out []Change) {
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) < 4 {
			continue
		}
		x, y := entry[0], entry[1]
		c := Change{Path: entry[3:], New: x == '?', Ignored: x == '!'}
		if !c.New && !c.Ignored {
			c.Staged, c.Changed = x != ' ', y != ' '
		}
		out = append(out, c)
	}
	return out
}
