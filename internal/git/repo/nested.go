package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Nested knows what the settings of the repositories in a tree make git run: hooks
// and filters that lie in their worktrees under any name. A repository is looked at
// when something below it is asked about for the first time, and then remembered.
type Nested struct {
	Root string // of the tree

	mu sync.Mutex
	of map[string][]string // by directory: of the repositories there and above
}

const maxNested = 1 << 16

// Executed returns the path at or above rel that git would run, by the settings of any
// repository around it.
func (n *Nested) Executed(rel string) (string, bool) {
	for _, e := range n.around(dirOf(rel)) {
		if rel == e || strings.HasPrefix(rel, e+"/") {
			return e, true
		}
	}
	return "", false
}

// Above says whether something below rel is run so.
func (n *Nested) Above(rel string) bool {
	for _, e := range n.around(rel) {
		if strings.HasPrefix(e, rel+"/") {
			return true
		}
	}
	return false
}

func dirOf(rel string) string {
	return rel[:max(strings.LastIndexByte(rel, '/'), 0)]
}

// around lists what the repositories at and above a directory make git run, the nearest
// one first. A directory without a repository has the list of the one above.
func (n *Nested) around(dir string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil || len(n.of) >= maxNested {
		n.of = map[string][]string{}
	}
	var unknown []string // the deepest first
	list, ok := n.of[dir]
	for at := dir; !ok; list, ok = n.of[at] {
		if unknown = append(unknown, at); at == "" {
			break
		}
		at = dirOf(at)
	}
	for _, at := range slices.Backward(unknown) {
		if own := n.namedIn(at); len(own) > 0 {
			list = append(own, list...)
		}
		n.of[at] = list
	}
	return list
}

// namedIn asks the settings of the repository in a directory, if it is one.
func (n *Nested) namedIn(dir string) []string {
	root := filepath.Join(n.Root, dir)
	if st, err := os.Lstat(root + "/.git"); err != nil || !st.IsDir() {
		return nil
	}
	var out []string
	for _, p := range Executed(&Repo{WorkTree: root, GitDir: root + "/.git", CommonDir: root + "/.git"}) {
		if rel, ok := strings.CutPrefix(p, n.Root+"/"); ok && rel != dir {
			out = append(out, rel)
		}
	}
	return out
}
