package object

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Snapshot is what one commit has.
type Snapshot struct {
	store *Store
	root  ID
	trees map[ID][]byte // that were read
}

const (
	maxTrees  = 4096 // that are kept
	maxLevels = 256  // of directories
)

// Snapshot opens a commit.
func (s *Store) Snapshot(commit ID) (*Snapshot, error) {
	content, err := s.Read(commit, Commit)
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(content, []byte("\n"))
	text, ok := strings.CutPrefix(string(line), "tree ")
	if !ok {
		return nil, errors.New("a commit without a tree")
	}
	root, err := ParseID(text)
	if err == nil && root.size != commit.size {
		err = errors.New("a commit and its tree have ids of different kinds")
	}
	return &Snapshot{store: s, root: root, trees: map[ID][]byte{}}, err
}

// Has returns nil if the commit has a file of just this content at path, and a store
// has it too: whoever reads the stores can read it.
func (n *Snapshot) Has(path string, content []byte) error {
	id, err := n.find(path)
	if err != nil {
		return err
	}
	if !id.names(Blob, content) {
		return ErrMissing
	}
	return n.store.Has(id, Blob)
}

// File is what the commit has in the file at path.
func (n *Snapshot) File(path string) ([]byte, error) {
	id, err := n.find(path)
	if err != nil {
		return nil, err
	}
	return n.store.Read(id, Blob)
}

// Stored returns nil if a store has a file of just this content, in whatever commit or
// none.
func (n *Snapshot) Stored(content []byte) error {
	return n.store.Has(n.root.of(Blob, content), Blob)
}

func (n *Snapshot) find(path string) (ID, error) {
	id, parts := n.root, strings.Split(path, "/")
	if len(parts) > maxLevels {
		return ID{}, ErrMissing
	}
	for i, name := range parts {
		tree, err := n.tree(id)
		if err != nil {
			return ID{}, err
		}
		mode, next, err := lookIn(tree, name, int(n.root.size))
		if err != nil {
			return ID{}, err
		}
		if last := i == len(parts)-1; last != (mode == "100644" || mode == "100755") || !last && mode != "40000" {
			return ID{}, ErrMissing
		}
		id = next
	}
	return id, nil
}

func (n *Snapshot) tree(id ID) ([]byte, error) {
	if tree, ok := n.trees[id]; ok {
		return tree, nil
	}
	tree, err := n.store.Read(id, Tree)
	if err == nil && len(n.trees) < maxTrees {
		n.trees[id] = tree
	}
	return tree, err
}

var errTree = errors.New("not a tree")

// lookIn finds a name in a tree: mode, blank, name, zero, id. All of it must be well
// formed, and the name be there once.
func lookIn(tree []byte, name string, width int) (mode string, id ID, err error) {
	for len(tree) > 0 {
		head, rest, ok := bytes.Cut(tree, []byte{0})
		m, entry, blank := bytes.Cut(head, []byte(" "))
		if !ok || !blank || len(rest) < width || len(m) == 0 || len(entry) == 0 || bytes.IndexByte(entry, '/') >= 0 {
			return "", ID{}, errTree
		}
		if string(entry) == name {
			if mode != "" {
				return "", ID{}, fmt.Errorf("%w: a name is there twice", errTree)
			}
			mode, id = string(m), idFrom(rest, width)
		}
		tree = rest[width:]
	}
	if mode == "" {
		return "", ID{}, ErrMissing
	}
	return mode, id, nil
}
