package object_test

import (
	"errors"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/git/object"
)

const (
	hexA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hexB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestParseCommit(t *testing.T) {
	const author = "author A <a@a.test> 1 +0000\n"
	for what, c := range map[string]struct {
		in   string
		want int // parents; -1: an error
	}{
		"root":               {"tree " + hexA + "\n" + author, 0},
		"one parent":         {"tree " + hexA + "\nparent " + hexB + "\n" + author, 1},
		"merge":              {"tree " + hexA + "\nparent " + hexB + "\nparent " + hexA + "\n" + author, 2},
		"parent in message":  {"tree " + hexA + "\n" + author + "\nparent " + hexB + "\n", 0},
		"upper-case parent":  {"tree " + hexA + "\nparent " + strings.ToUpper(hexB) + "\n" + author, -1},
		"upper-case tree":    {"tree " + strings.ToUpper(hexA) + "\n" + author, -1},
		"no tree":            {"parent " + hexB + "\n" + author, -1},
		"two trees":          {"tree " + hexA + "\ntree " + hexB + "\n" + author, -1},
		"no author":          {"tree " + hexA + "\n", -1},
		"space behind":       {"tree " + hexA + " \n" + author, -1},
		"long name":          {"tree " + hexA + "a\n" + author, -1},
		"carriage return":    {"tree " + hexA + "\r\n" + author, -1},
		"parent cut":         {"tree " + hexA + "\nparent " + hexB, -1},
		"nothing":            {"", -1},
		"half a parent line": {"tree " + hexA + "\nparent bb\n" + author, -1},
	} {
		h, err := object.ParseCommit([]byte(c.in))
		if (err != nil) != (c.want < 0) || err == nil && len(h.Parents) != c.want {
			t.Errorf("%s: %d parents and %v", what, len(h.Parents), err)
		}
		if err != nil && !errors.Is(err, object.ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestEachEntry(t *testing.T) {
	id := strings.Repeat("\x01", 20)
	for what, c := range map[string]struct {
		in   string
		want string // names; "!": an error
	}{
		"empty":              {"", ""},
		"two":                {"100644 a\x00" + id + "40000 b\x00" + id, "a b"},
		"git's order":        {"100644 a.b\x00" + id + "40000 a\x00" + id, "a.b a"},
		"file before dir":    {"100644 a\x00" + id + "100644 a.b\x00" + id, "a a.b"},
		"out of order":       {"100644 b\x00" + id + "100644 a\x00" + id, "!"},
		"twice":              {"100644 a\x00" + id + "100644 a\x00" + id, "!"},
		"twice, two kinds":   {"100644 a\x00" + id + "40000 a\x00" + id, "!"},
		"leading zero":       {"040000 a\x00" + id, "!"},
		"unknown mode":       {"100600 a\x00" + id, "!"},
		"no mode":            {"a\x00" + id, "!"},
		"no name":            {"100644 \x00" + id, "!"},
		"slash":              {"100644 a/b\x00" + id, "!"},
		"dot dot":            {"40000 ..\x00" + id, "!"},
		"cut in id":          {"100644 a\x00" + id[1:], "!"},
		"cut in name":        {"100644 a", "!"},
		"submodule and link": {"120000 a\x00" + id + "160000 b\x00" + id, "a b"},
	} {
		var names []string
		err := object.EachEntry([]byte(c.in), func(e object.Entry) { names = append(names, e.Name) })
		if got := strings.Join(names, " "); (err != nil) != (c.want == "!") || err == nil && got != c.want {
			t.Errorf("%s: %q and %v", what, got, err)
		}
	}
}

func TestParseTag(t *testing.T) {
	id, kind, err := object.ParseTag([]byte("object " + hexA + "\ntype commit\ntag v1\n"))
	if err != nil || id.String() != hexA || kind != object.Commit {
		t.Error(id, kind, err)
	}
	for _, in := range []string{"", "object " + hexA + "\n", "object " + hexA + "\ntype commits\n", "type commit\nobject " + hexA + "\n"} {
		if _, _, err := object.ParseTag([]byte(in)); !errors.Is(err, object.ErrFormat) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
