// Package undo keeps what a session in the live view overwrote, deleted, renamed
// or created in the trees of the host, and brings it back.
//
// A Store is the writing side. It is asked before every change, and it costs
// nothing until something changes. It remembers, for each name that the session
// touched, what was there before the session: the content of a file is copied
// before it is written to, and kept by a hard link before it is deleted. What the
// session made itself is never kept, and nothing at all is written down about
// what happens below a directory that the session made.
//
// A Log is the reading side. It follows the same records and so knows for every
// entry of the tree as it was where that entry is now, also over renames.
//
// What is left at risk: a file that is larger than the limits is not kept (it is
// said). A file with several names comes back as one of its own when it was
// deleted; when it was written to, its other names come back with it, but only the
// name that was used is in the list of changes; the undo of an undo does not bring back
// what was written through one of several names. Extended attributes and the times
// of directories are not kept. What a person makes during the session below a
// directory that the session made, or under a name that the session deleted,
// counts as the session's; a repository that lends its objects to another, and that the
// session made, goes if nobody changed it. An ordinary user is not told what is in a directory
// that the session closed to its owner: only that it is closed. What the session put
// deeper than maxDeep is not listed and not removed: it is said where that begins.
package undo

import (
	"errors"
	"fmt"
	"strings"
)

// Limits bound what is kept. A file larger than File, or that would make the sum
// larger than Total, is not kept, and the log says so.
type Limits struct{ File, Total int64 }

// How says what is about to happen to an entry.
type How int

// The ways in which an entry changes.
const (
	Write   How = iota // opened for writing in place, truncated
	Remove             // unlinked, removed, replaced by a rename
	Mode               // its mode, owner or times are set
	Replace            // another takes its place, or nothing: it is kept as a copy and not touched itself
)

// ErrFull is in the chain when a session touched more names than a store takes.
var ErrFull = errors.New("the undo store is full")

// ErrClosed is in the chain of everything that is asked of a store after Close.
var ErrClosed = errors.New("the undo store is closed")

const (
	logName     = "log"
	restoreName = "restore"
	keptName    = "kept"

	tempPrefix = ".ringfence-undo-"
)

const (
	maxPath  = 4095      // what one system call takes
	maxDeep  = 8192      // as far as a path may grow when directories above it are moved
	maxNames = 512 << 10 // of which a store keeps track in memory
	maxTrees = 1 << 10
	maxLog   = 1 << 30
)

// checkPath says no to what is not the plain path of an entry of a tree.
func checkPath(rel string) error { return checkPlain(rel, maxPath) }

// checkPlain does it with another bound.
func checkPlain(rel string, most int) error {
	if len(rel) > most {
		return fmt.Errorf("a path of %d bytes is too long", len(rel))
	}
	if strings.IndexByte(rel, 0) >= 0 {
		return fmt.Errorf("path %q has a zero byte", rel)
	}
	for rest, more := rel, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if name == "" || name == "." || name == ".." {
			return fmt.Errorf("path %q is not plain", rel)
		}
	}
	return nil
}

// inside reports whether rel is dir or below it.
func inside(dir, rel string) bool {
	return dir == "" || rel == dir || len(rel) > len(dir) && rel[len(dir)] == '/' && rel[:len(dir)] == dir
}

// split cuts a path into the directory and the name in it.
func split(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/')
	return rel[:max(i, 0)], rel[i+1:]
}

// join puts a path back together. Either part may be empty.
func join(dir, rel string) string {
	if dir == "" {
		return rel
	}
	if rel == "" {
		return dir
	}
	return dir + "/" + rel
}
