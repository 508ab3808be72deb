// Package change is the one word for a difference between a tree before and after
// a session. It has no opinion of what the difference means and touches no file.
//
// Texts are compared line by line: a patch that shows a difference, and a merge of two
// texts that began as one. The work is bounded whatever the texts are: past the bound a
// difference is shown coarser than it could be, and a merge finds a conflict where there
// might be none.
//
// What is left at risk: a merge without a conflict is a merge of lines, not of
// meaning. Two changes that do not touch may still not belong together.
package change

import "cmp"

// Type is what a name stands for.
type Type string

// The types. Everything that is neither a file, a directory nor a symbolic link
// is special: a pipe, a socket, a device.
const (
	File      Type = "file"
	Directory Type = "directory"
	Symlink   Type = "symlink"
	Special   Type = "special"
)

// Node is one side of a change.
type Node struct {
	Type Type   `json:"type"`
	Mode uint32 `json:"mode"`           // permission bits, setuid, setgid and sticky bits included
	Size int64  `json:"size,omitempty"` // files
	Hash string `json:"hash,omitempty"` // files: SHA-256, hexadecimal
	Link string `json:"link,omitempty"` // symbolic links: what they say
}

// Change is one difference. Path is relative to the tree, with slashes, and holds
// the bytes of the name as they are: who prints it quotes it.
type Change struct {
	Path string
	From string // the former path of what was renamed
	Old  *Node  // nil: it was not there before
	New  *Node  // nil: it is not there any more
	// Plain: the new side is a file that was read to its end and holds only ASCII. Not set
	// means that nobody knows.
	Plain bool
}

// Kind names a change.
type Kind string

// The kinds. A change of the content and of the mode is Changed.
const (
	Added   Kind = "added"
	Changed Kind = "changed"
	Deleted Kind = "deleted"
	Mode    Kind = "mode"
	Renamed Kind = "renamed"
)

// Kind says what happened.
func (c Change) Kind() Kind {
	switch {
	case c.From != "":
		return Renamed
	case c.Old == nil:
		return Added
	case c.New == nil:
		return Deleted
	case c.Old.Mode != c.New.Mode && c.Old.same(*c.New):
		return Mode
	}
	return Changed
}

// same compares all but the mode.
func (n Node) same(o Node) bool {
	n.Mode = o.Mode
	return n == o
}

// Compare orders changes by path.
func Compare(a, b Change) int { return cmp.Compare(a.Path, b.Path) }
