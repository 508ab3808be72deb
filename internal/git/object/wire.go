package object

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
)

// ErrFormat is in the chain of every error that bad bytes caused.
var ErrFormat = errors.New("bad git object")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// Sum names an object by SHA-1.
func Sum(t Type, data []byte) ID { return ID{size: sha1.Size}.of(t, data) }

// History is what of a commit makes history.
type History struct {
	Tree    ID
	Parents []ID
}

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
func ParseTag(data []byte) (ID, Type, error) {
	id, rest, err := idLine(data, "object ")
	if err != nil {
		return ID{}, "", err
	}
	for _, t := range []Type{Commit, Tree, Blob, Tag} {
		if bytes.HasPrefix(rest, []byte("type "+string(t)+"\n")) {
			return id, t, nil
		}
	}
	return ID{}, "", bad("tag without a type where it belongs")
}

// idLine takes one line of a key and an object name off data.
func idLine(data []byte, key string) (ID, []byte, error) {
	n := len(key) + 2*sha1.Size
	if len(data) <= n || !bytes.HasPrefix(data, []byte(key)) || data[n] != '\n' {
		return ID{}, nil, bad("no line %q where it belongs", key)
	}
	id, err := ParseSHA1(string(data[len(key):n]))
	return id, data[n+1:], err
}
