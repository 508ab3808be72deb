package knownsecrets

import (
	_ "embed"
	"iter"
	"strings"
	"sync"
	"weak"
)

var (
	//go:embed paths.txt
	pathText string
	//go:embed env.txt
	envText string
)

// Decoded on first use: a launch that asks nothing pays nothing. Forgotten when nobody has
// asked since memory was collected: a session that only runs does not keep them.
var (
	paths = forgotten(decodePaths)
	envs  = forgotten(decodeEnv)
)

func forgotten[T any](decode func() T) func() T {
	var mu sync.Mutex
	var last weak.Pointer[T]
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		v := last.Value()
		if v == nil {
			v = new(T)
			*v = decode()
			last = weak.Make(v)
		}
		return *v
	}
}

// decode yields the rows of one of our own files. It trusts their form, which
// the tests check; no foreign text comes here.
func decode(text string) iter.Seq2[Entry, string] {
	return func(yield func(Entry, string) bool) {
		var e Entry
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case line == "" || line[0] == '#':
			case line[0] == '[':
				e.Class = Class(line[1 : len(line)-1])
			case line[0] != ' ':
				e.What = line[:len(line)-1]
			case !yield(e, line[2:]):
				return
			}
		}
	}
}

// row is a pattern of paths, cut into what matching needs.
type row struct {
	entry Entry
	root  root
	rest  string // the pattern below its root, without a trailing slash
	tree  bool   // what lies below matches too
}

// root is where a pattern begins.
type root int

const (
	anywhere root = iota // rest is the name of a file, in any directory
	absolute
	inHome
	roots // how many there are
)

// decodePaths puts the bare names last: a row that knows the place says more.
func decodePaths() []row {
	rows := make([]row, 0, 700)
	var bare []row
	for e, pattern := range decode(pathText) {
		e.Pattern = pattern
		r := row{entry: e}
		r.rest, r.tree = strings.CutSuffix(pattern, "/")
		if rest, ok := strings.CutPrefix(r.rest, "~/"); ok {
			r.root, r.rest = inHome, rest
		} else if rest, ok := strings.CutPrefix(r.rest, "/"); ok {
			r.root, r.rest = absolute, rest
		} else {
			bare = append(bare, r)
			continue
		}
		rows = append(rows, r)
	}
	return append(rows, bare...)
}

// nameTable finds a plain name at once and tries the globs one by one.
type nameTable struct {
	plain map[string]Entry
	globs []glob
}

func decodeEnv() nameTable {
	t := nameTable{plain: make(map[string]Entry, 600)}
	for e, line := range decode(envText) {
		for pattern := range strings.FieldsSeq(line) {
			e.Pattern = pattern
			head, _, star := strings.Cut(pattern, "*")
			if !star {
				t.plain[pattern] = e
				continue
			}
			t.globs = append(t.globs, glob{e, head, pattern[strings.LastIndex(pattern, "*")+1:]})
		}
	}
	return t
}
