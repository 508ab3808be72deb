package pack

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// ErrFormat is in the chain of every error that bad bytes caused.
var ErrFormat = errors.New("bad git object")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// ID is the name of an object.
type ID [sha1.Size]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IsZero reports whether id is the name that stands for no object.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads forty lower-case digits. Git takes upper-case ones too and never
// writes them.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return ID{}, bad("object name of %d characters", len(s))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil || id.String() != s {
		return ID{}, bad("object name %q", s)
	}
	return id, nil
}

// Kind is the type of an object, by its number in a pack.
type Kind byte

// The kinds.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
	Tag    Kind = 4
)

func (k Kind) String() string {
	switch k {
	case Commit:
		return "commit"
	case Tree:
		return "tree"
	case Blob:
		return "blob"
	case Tag:
		return "tag"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Sum names an object.
func Sum(kind Kind, data []byte) ID {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return ID(h.Sum(nil))
}

// History is what of a commit makes history.
type History struct {
	Tree    ID
	Parents []ID
}

// maxParents is far beyond any merge that people make.
const maxParents = 1000

// ParseCommit reads the head of a commit. Git reads the tree and the parents from
// these very lines and nowhere else.
func ParseCommit(data []byte) (History, error) {
	var h History
	tree, rest, err := idLine(data, "tree ")
	if err != nil {
		return h, err
	}
	h.Tree = tree
	for bytes.HasPrefix(rest, []byte("parent ")) {
		var id ID
		if id, rest, err = idLine(rest, "parent "); err != nil {
			return h, err
		}
		if h.Parents = append(h.Parents, id); len(h.Parents) > maxParents {
			return h, bad("commit with more than %d parents", maxParents)
		}
	}
	if !bytes.HasPrefix(rest, []byte("author ")) {
		return h, bad("commit without an author where it belongs")
	}
	return h, nil
}

// ParseTag returns what a tag object stands for.
func ParseTag(data []byte) (ID, Kind, error) {
	id, rest, err := idLine(data, "object ")
	if err != nil {
		return ID{}, 0, err
	}
	for _, k := range []Kind{Commit, Tree, Blob, Tag} {
		if bytes.HasPrefix(rest, []byte("type "+k.String()+"\n")) {
			return id, k, nil
		}
	}
	return ID{}, 0, bad("tag without a type where it belongs")
}

// idLine takes one line of a key and an object name off data.
func idLine(data []byte, key string) (ID, []byte, error) {
	n := len(key) + 2*len(ID{})
	if len(data) <= n || !bytes.HasPrefix(data, []byte(key)) || data[n] != '\n' {
		return ID{}, nil, bad("no line %q where it belongs", key)
	}
	id, err := ParseID(string(data[len(key):n]))
	return id, data[n+1:], err
}
