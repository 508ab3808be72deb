package object

import (
	"bytes"
	"crypto/sha1"
)

// Entry is one line of a tree.
type Entry struct {
	Mode string // as git writes it, without leading zeros
	Name string
	ID   ID
}

// IsTree reports whether the entry is a directory.
func (e Entry) IsTree() bool { return e.Mode == "40000" }

// modes are those that git has written. 100664 is from its first days.
var modes = map[string]bool{"40000": true, "100644": true, "100664": true, "100755": true, "120000": true, "160000": true}

// EachEntry calls do with the entries of a tree. Two entries of one name, or in
// an order that is not git's, are an error: what a server makes of those is
// anybody's guess.
func EachEntry(data []byte, do func(Entry)) error {
	var last Entry
	for len(data) > 0 {
		e, rest, err := treeEntry(data)
		if err != nil {
			return err
		}
		if last.Name != "" && !before(last, e) {
			return bad("tree with %q after %q", e.Name, last.Name)
		}
		do(e)
		last, data = e, rest
	}
	return nil
}

func treeEntry(data []byte) (Entry, []byte, error) {
	end := bytes.IndexByte(data, 0)
	if end < 0 || len(data)-end-1 < sha1.Size {
		return Entry{}, nil, bad("tree that is cut short")
	}
	mode, name, ok := bytes.Cut(data[:end], []byte(" "))
	if !ok || !modes[string(mode)] {
		return Entry{}, nil, bad("tree with mode %.20q", mode)
	}
	e := Entry{Mode: string(mode), Name: string(name), ID: idFrom(data[end+1:], sha1.Size)}
	if e.Name == "" || e.Name == "." || e.Name == ".." || bytes.IndexByte(name, '/') >= 0 {
		return Entry{}, nil, bad("tree with an entry named %q", e.Name)
	}
	return e, data[end+1+sha1.Size:], nil
}

// before is git's order: that of the names, a directory's with a slash behind. A
// file and a directory of one name are not next to each other in it, so that
// pair is for the caller to find if it matters.
func before(a, b Entry) bool {
	if a.Name == b.Name {
		return false
	}
	return key(a) < key(b)
}

func key(e Entry) string {
	if e.IsTree() {
		return e.Name + "/"
	}
	return e.Name
}
