// Package phantom makes what stands inside for a file of secrets: the same keys in the
// same order, with values of the same make that open nothing, so that programs start
// and the agent learns nothing.
//
// Names say which files are meant (Rules), content says what is to be hidden in them
// (Phantom), and Walk finds them in a tree that somebody else may be writing.
//
// # What a phantom is made of
//
// Of the seed of the session, the name of the key and the shape of the value: its
// prefix if everybody knows it, its length and its alphabet. Never of the value: who
// writes a guess into a file of such a name and reads it back learns the shape of the
// guess. The same key with a value of the same shape has the same phantom in every
// file of a session, so that two programs that share a secret go on sharing one.
//
// # What stays
//
// Keys, and what programs look at to start: switches, small numbers, ports, hosts,
// URLs without what is secret in them, paths, versions, single plain words. Under a
// key that names a secret only switches, references to other variables and paths of
// key files stay. Nothing stays that shares six bytes with a value that was replaced:
// fewer than six are found in any text by chance, six of a random token are not.
// What is not understood is not shown.
//
// # What is left at risk
//
//   - A secret that is one plain word (or the name of a host or a path) under a key that
//     says nothing of a secret is taken for what it looks like. So is one that is used
//     as a key.
//   - The length and the alphabet of a long value show, and that a value was replaced.
//   - A certificate is public and stays, so it does not fit the phantom of its key.
//   - A secret in a file of another name is not looked for: the project lists it.
package phantom

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

// Kind says what became of a file.
type Kind string

// The kinds.
const (
	Values Kind = "values" // the same keys, phantom values
	Key    Kind = "key"    // a key of the same make that opens nothing
	Empty  Kind = "empty"  // not understood, or too large: nothing of it is shown
	None   Kind = "none"   // the content shows that nothing in it is secret
)

const (
	maxFile = 1 << 20 // what is larger is shown empty
	minSeed = 16
	run     = 6 // so many bytes of a secret in a row do not appear inside
)

// Phantom returns what stands inside for the file at rel, a path relative to its tree.
// It depends on its arguments and on nothing else. Of kind None it is the data itself.
func Phantom(rel string, data, seed []byte) ([]byte, Kind, error) {
	if len(seed) < minSeed {
		return nil, Empty, errors.New("make a phantom: the seed is too short")
	}
	out, kind := phantom(rel, data, seed, false)
	return out, kind, nil
}

// judge tells the kind and makes no key for it.
func judge(rel string, data []byte) Kind {
	_, kind := phantom(rel, data, make([]byte, minSeed), true)
	return kind
}

func phantom(rel string, data, seed []byte, dry bool) ([]byte, Kind) {
	if len(data) == 0 {
		return nil, None
	}
	if len(data) > maxFile {
		return nil, Empty
	}
	if program(rel, data) {
		return data, None
	}
	text, mark := bytes.CutPrefix(data, []byte("\ufeff"))
	f := formatOf(rel)
	if f == nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, Empty
	}
	// The first round learns which values are secret, the second one sees to it that
	// they are not repeated in what stays.
	learn := &masker{maker: maker{seed: seed, dry: true, secrets: windows{}}}
	learn.reset()
	f(learn, string(text))
	m := &masker{maker: maker{seed: seed, dry: dry, known: learn.secrets}}
	m.reset()
	out, kind := f(m, string(text))
	switch {
	case kind == None || kind == Values && out == string(text) && len(m.uses) == 0:
		return data, None // a short number may have been drawn as it was: that is no such case
	case kind == Empty || out == "" || m.spent() || learn.spent():
		return nil, Empty
	}
	if mark {
		out = "\ufeff" + out
	}
	return []byte(out), kind
}

// program: test_rsa may be one. The dump of a process is of another type.
func program(rel string, data []byte) bool {
	base := rel[strings.LastIndexByte(rel, '/')+1:]
	return len(data) > 17 && bytes.HasPrefix(data, []byte("\x7fELF")) && !strings.Contains(base, ".") && (data[16] == 2 || data[16] == 3)
}

// masker reads one file and says what stands for it.
type masker struct {
	maker
	anchors map[string]bool
}

// maker makes values that stand for others, and knows those that it made.
type maker struct {
	seed    []byte
	dry     bool           // no key is made
	uses    map[string]int // of each label
	secrets windows        // the first round writes them down
	known   windows        // the second one looks at them
	work    int            // phantoms so far, and lines that were read in vain
	looked  int            // values so far
}

// These bound the time. No file of settings has as many values.
const (
	maxWork   = 5000
	maxLooked = 20_000
)

// spent: nothing of the file will be shown.
func (m *maker) spent() bool { return m.work > maxWork || m.looked > maxLooked }

func (m *masker) reset() { m.uses, m.anchors = map[string]int{}, map[string]bool{} }

// windows are all runs of the values that were replaced.
type windows map[[run]byte]struct{}

// maxWindows bounds the memory.
const maxWindows = 200_000

func (w windows) add(s string) {
	for i := 0; i+run <= len(s) && len(w) < maxWindows; i++ {
		w[[run]byte([]byte(s[i:i+run]))] = struct{}{}
	}
}

// shares reports whether s has a run of a known secret.
func (w windows) shares(s string) bool {
	if len(w) == 0 {
		return false
	}
	for i := 0; i+run <= len(s); i++ {
		if _, ok := w[[run]byte([]byte(s[i:i+run]))]; ok {
			return true
		}
	}
	return false
}

// shared reports whether two texts have a run in common.
func shared(a, b string) bool {
	w := windows{}
	w.add(b)
	return w.shares(a)
}
