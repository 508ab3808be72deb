package learn

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/workspace/keeper"
)

// Bounds of one session. Who asks for more names than these has the rest forgotten,
// which is said.
const (
	maxNames  = 4096
	maxOpened = 256
	maxMade   = 4096
)

// Names collects what is asked for. It may be used by many threads at once.
type Names struct {
	shown   map[string]bool // mirrors of the host: what is missing there is missing on the host
	private map[string]bool // the sandbox's own
	trees   []string        // workspaces

	mu     sync.Mutex
	wants  map[string]keeper.Ask
	opened []string // files of the trees
	made   map[string]bool
	more   bool
}

// Collect begins a collection. The paths are of the view: the home directory, what it
// shows of the host at its own place, what is the sandbox's own, and the workspaces.
func Collect(home string, shown, private, trees []string) *Names {
	n := &Names{shown: set(shown), private: set(private), trees: trees, wants: map[string]keeper.Ask{}, made: map[string]bool{}}
	for _, p := range []string{"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/.ringfence"} {
		n.private[p] = !file.Within(home, p) // a home may lie anywhere
	}
	return n
}

func set(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// above holds if p or a directory above it is in the set.
func above(dirs map[string]bool, p string) bool {
	for ; p != "/" && p != "."; p = path.Dir(p) {
		if dirs[p] {
			return true
		}
	}
	return false
}

// plain holds for a path that can be shown and written down as it is.
func plain(p string) bool {
	return len(p) < 1024 && path.IsAbs(p) && path.Clean(p) == p && utf8.ValidString(p) &&
		!strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Asked takes one question.
func (n *Names) Asked(a keeper.Ask) {
	if !plain(a.Path) || above(n.private, a.Path) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case a.Made:
		if len(n.made) < maxMade {
			n.made[a.Path] = true
		}
	case a.Fixed && a.Write, a.Absent && !above(n.shown, a.Path):
		n.want(a)
	case a.Open && !a.Write && !a.Absent && len(n.opened) < maxOpened && n.inTree(a.Path) && !slices.Contains(n.opened, a.Path):
		n.opened = append(n.opened, a.Path)
	}
}

func (n *Names) inTree(p string) bool {
	return slices.ContainsFunc(n.trees, func(t string) bool { return file.Within(p, t) })
}

func (n *Names) want(a keeper.Ask) {
	have, known := n.wants[a.Path]
	if !known && len(n.wants) >= maxNames {
		n.more = true
		return
	}
	have.Path = a.Path
	have.Write, have.Open = have.Write || a.Write, have.Open || a.Open
	have.Fixed = have.Fixed || a.Fixed
	n.wants[a.Path] = have
}

// wanted lists what was missing and was not made by the session itself later.
func (n *Names) wanted() []keeper.Ask {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []keeper.Ask
	for _, a := range n.wants {
		if a.Fixed || !above(n.made, a.Path) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b keeper.Ask) int { return strings.Compare(a.Path, b.Path) })
	return out
}
