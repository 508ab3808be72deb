package gitdir

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Nested knows what the settings of the repositories in a tree make git run: hooks
// and filters that lie in their worktrees under any name. A repository is looked at
// when something below it is asked about for the first time, and then remembered.
type Nested struct {
	Root string // of the tree

	mu sync.Mutex
	of map[string][]string // by the directory that has a .git
}

const maxNested = 1 << 16

// Executed returns the path at or above rel that git would run, by the settings of any
// repository around it.
func (n *Nested) Executed(rel string) (string, bool) {
	for dir := dirOf(rel); ; dir = dirOf(dir) {
		for _, e := range n.at(dir) {
			if rel == e || strings.HasPrefix(rel, e+"/") {
				return e, true
			}
		}
		if dir == "" {
			return "", false
		}
	}
}

// Above says whether something below rel is run so.
func (n *Nested) Above(rel string) bool {
	for dir := rel; ; dir = dirOf(dir) {
		for _, e := range n.at(dir) {
			if strings.HasPrefix(e, rel+"/") {
				return true
			}
		}
		if dir == "" {
			return false
		}
	}
}

func dirOf(rel string) string {
	return rel[:max(strings.LastIndexByte(rel, '/'), 0)]
}

func (n *Nested) at(dir string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, ok := n.of[dir]; ok {
		return known
	}
	if n.of == nil || len(n.of) >= maxNested {
		n.of = map[string][]string{}
	}
	n.of[dir] = n.namedIn(dir)
	return n.of[dir]
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
