package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/git/object"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// trees makes the workspace: a repository with a file of secrets, and in a directory
// of its own another one, which is changed to be brought back. It is called again after
// the control, which leaves both spoilt.
func (p *plant) trees() error {
	entries, err := os.ReadDir(p.workspace)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(p.workspace, e.Name())); err != nil {
			return err
		}
	}
	undone := filepath.Join(p.workspace, probe.Undone)
	if err := errors.Join(repository(p.workspace), repository(undone),
		os.WriteFile(filepath.Join(p.workspace, probe.Secrets), []byte("API_TOKEN="+p.canary+"\n"), 0o600)); err != nil {
		return err
	}
	for _, name := range []string{probe.UndoChanged, probe.UndoDeleted, probe.UndoMoved, probe.UndoBoth} {
		if err := os.WriteFile(filepath.Join(undone, name), []byte(textOf(name)), 0o600); err != nil {
			return err
		}
	}
	p.before, err = snapshot(p.workspace)
	return err
}

// textOf is what is in a file before it is changed.
func textOf(name string) string { return "of the host: " + name + "\n" }

// repository makes the smallest that has a commit and a file, without git.
func repository(dir string) error {
	const readme = "README"
	text := []byte("a file\n")
	blob, blobFile := probe.Loose(object.Blob, text)
	id, err := object.ParseSHA1(blob)
	if err != nil {
		return err
	}
	tree, treeFile := probe.Loose(object.Tree, append([]byte("100755 "+readme+"\x00"), id.Bytes()...))
	commit, commitFile := probe.Loose(object.Commit, probe.Commit(tree, ""))
	index, err := probe.Index(readme, blob)
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		readme:                            text,
		".git/HEAD":                       []byte("ref: refs/heads/main\n"),
		".git/config":                     []byte("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"),
		".git/index":                      index,
		".git/info/exclude":               []byte(probe.Secrets + "\n"),
		".git/logs/HEAD":                  nil,
		".git/refs/heads/main":            []byte(commit + "\n"),
		".git/" + probe.LooseName(blob):   blobFile,
		".git/" + probe.LooseName(tree):   treeFile,
		".git/" + probe.LooseName(commit): commitFile,
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, content, 0o600)); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(dir, readme), 0o700)
}

// snapshot reads all of a tree but its directories: by path what a file holds, with what
// it is before that.
func snapshot(root string) (map[string]string, error) {
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(path, root+"/")
		switch e.Type() {
		case 0:
			b, err := os.ReadFile(path)
			out[rel] = "file " + string(b)
			return err
		case fs.ModeSymlink:
			to, err := os.Readlink(path)
			out[rel] = "link " + to
			return err
		}
		out[rel] = e.Type().String()
		return nil
	})
	return out, err
}
