package object

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestStricterHolds: packs of a store and packs on the wire had readers of their own, with
// different bounds. The narrower one is right: nothing that git writes comes near it.
func TestStricterHolds(t *testing.T) {
	sizes := func(groups int) []byte { return append(bytes.Repeat([]byte{0x80}, groups-1), 0) }
	if _, _, err := deltaSize(sizes(6)); err != nil {
		t.Error("a size of six groups:", err)
	}
	if _, _, err := deltaSize(sizes(7)); !errors.Is(err, ErrFormat) {
		t.Error("a size of seven groups, which the wire took:", err)
	}
	if _, _, err := entryHead(bytes.NewReader(append([]byte{0x90}, sizes(6)...))); !errors.Is(err, ErrFormat) {
		t.Error("an object of more than half a terabyte, which the wire took:", err)
	}
	if _, err := distance(bytes.NewReader(sizes(9))); !errors.Is(err, ErrFormat) {
		t.Error("an offset of nine groups, which the store took:", err)
	}
	if _, err := distance(bytes.NewReader([]byte{0})); !errors.Is(err, ErrFormat) {
		t.Error("a delta on itself:", err)
	}
	line := "parent " + strings.Repeat("a", 40) + "\n"
	commit := func(parents int) []byte {
		return []byte("tree " + strings.Repeat("a", 40) + "\n" + strings.Repeat(line, parents) + "author ")
	}
	if _, err := ParseCommit(commit(maxParents)); err != nil {
		t.Error(err)
	}
	if _, err := ParseCommit(commit(maxParents + 1)); !errors.Is(err, ErrFormat) {
		t.Error("more parents than a commit has that is signed, which the wire took:", err)
	}
	if _, err := ParseSHA1(strings.Repeat("a", 64)); !errors.Is(err, ErrFormat) {
		t.Error("an id of SHA-256 on the wire:", err)
	}
}

// A ref that a server does not have and the zeros that a client sends for it are the same:
// else every new branch would be "elsewhere by now". No content has that name.
func TestNoObjectIsOneThing(t *testing.T) {
	zeros := strings.Repeat("0", 40)
	id, err := ParseSHA1(zeros)
	if err != nil || id != (ID{}) || !id.IsZero() || id.String() != zeros {
		t.Errorf("%v, %v: %v", id, id == ID{}, err)
	}
	if id.names(Blob, nil) || id.names(Blob, []byte("x")) {
		t.Error("no object names something")
	}
}
