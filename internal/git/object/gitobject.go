// Package object reads git's objects without git: the commit or tag that
// somebody wants signed, and the object store that it must belong to. Nothing
// here runs a program, and every byte is taken for hostile: the agent writes the
// payload and, file by file, the store.
//
// Parse takes the one form in which git itself writes commits and tags. What git
// would read with a shrug (a date without a zone, a header out of order) is
// refused, because two readers could then see two different objects under one
// signature.
//
// A Store says that it holds an object only after it has read the object, and
// its bytes hash to the id asked for: a file by that name, or a line in a pack
// index, proves nothing. Symlinks are not followed, files are read by pread and
// never mapped (a mapped file that is cut short kills the process), and each
// question has a budget of bytes.
//
// ReadPack follows the history in a pack that goes over the wire: commits, trees and tags
// come out, blobs are passed over. Every object that comes out has been rebuilt from its
// deltas and named by the SHA-1 of its own bytes, so whoever made the pack cannot lend one
// object the name of another. A pack may be thin: Missing names the objects that only the
// other side has, and Add takes them. Hostile packs cost bounded memory and work, see
// PackLimits. Blobs that come as deltas are not rebuilt; nothing depends on their names.
//
// What is left at risk: two objects with one SHA-1 can be made for a price. The server
// behind refuses the known ways to do it; nothing here looks for them. The agent can bring any object it has the bytes of into
// its own store. That an object lies there says that the agent knows it, not that
// a person ever saw it. A repository that links parts of its store elsewhere by
// symlinks, or has pack indexes of version 1, is not understood, and nothing of it
// is found.
package object

import (
	"crypto/sha1" // the hash of git's ids is not ours to choose
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"strconv"
)

// Type is what an object is.
type Type string

// The types of object.
const (
	Commit Type = "commit"
	Tree   Type = "tree"
	Blob   Type = "blob"
	Tag    Type = "tag"
)

func (t Type) known() bool { return t == Commit || t == Tree || t == Blob || t == Tag }

// ID is the name of an object, by SHA-1 or SHA-256. The zero ID names none.
type ID struct {
	raw  [sha256.Size]byte
	size uint8
}

// ParseID reads an id as git writes it: 40 or 64 digits in lower case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*sha1.Size && len(s) != 2*sha256.Size {
		return ID{}, errors.New("an object id has 40 or 64 digits")
	}
	for i := range len(s) {
		if !isDigit(s[i]) && (s[i] < 'a' || s[i] > 'f') {
			return ID{}, errors.New("an object id has the digits 0 to 9 and a to f")
		}
	}
	n, err := hex.Decode(id.raw[:], []byte(s))
	id.size = uint8(n)
	return id, err
}

// ParseSHA1 reads an id of forty digits only: where packs go over the wire, the other
// kind is not understood.
func ParseSHA1(s string) (ID, error) {
	id, err := ParseID(s)
	if err != nil {
		return ID{}, bad("object name %.70q: %v", s, err)
	}
	if id.size != sha1.Size {
		return ID{}, bad("object name of %d characters", len(s))
	}
	if id.IsZero() {
		return ID{}, nil // no object, as for a ref that a server does not have
	}
	return id, nil
}

func (id ID) String() string { return hex.EncodeToString(id.Bytes()) }

// Bytes are what the digits stand for. No object is forty zeros.
func (id ID) Bytes() []byte {
	if id.size == 0 {
		return id.raw[:sha1.Size]
	}
	return id.raw[:id.size]
}

// IsZero reports whether id stands for no object, as git writes it with zeros.
func (id ID) IsZero() bool { return id.raw == [sha256.Size]byte{} }

func (id ID) hash() hash.Hash {
	if id.size == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// names reports whether content, as an object of type t, has this id.
func (id ID) names(t Type, content []byte) bool { return id == id.of(t, content) }

// of is the id of content, as an object of type t, by the hash of this one.
func (id ID) of(t Type, content []byte) ID {
	h := id.hash()
	h.Write([]byte(string(t) + " " + strconv.Itoa(len(content)) + "\x00"))
	h.Write(content)
	return idFrom(h.Sum(nil), h.Size())
}

// idFrom returns the id whose bytes are b, of which there are enough.
func idFrom(b []byte, size int) ID {
	id := ID{size: uint8(size)}
	copy(id.raw[:size], b)
	return id
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
