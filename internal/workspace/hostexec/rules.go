package hostexec

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// Rules are the data, ready for use. They do not change: one value may serve many
// at once.
type Rules struct {
	rules    []*rule
	contents []content
	scans    []*contentData       // what a scan looks for
	byName   map[string][]fileRef // files of the contents, by the last name
	starred  *[256][]fileRef      // and those whose last name is a pattern, by how it ends
	hooks    []string
	env      envData // folded

	whole *index // anywhere: directories with everything below
	names *index // anywhere: the last name of a path
	git   *index // in a git directory
	extra []*rule

	start int // of a path, where a git directory begins: 0 if the tree is one, else -1
}

// Builtin returns the rules that are part of the program. They are read when they
// are first asked for.
func Builtin() (*Rules, error) { return builtin() }

var builtin = sync.OnceValues(func() (*Rules, error) { return parse("hostexec.toml", embedded) })

// target is the verdict on what git's configuration or hooks lead to.
var target = Verdict{
	Rank: Unasked, Hold: true, Who: "git", When: "at the next git command",
	Why: "git's configuration or a link in its place leads here",
}

// With returns rules that also hold further paths of this tree, each with
// everything below it: what core.hooksPath, a symbolic link in the place of a hook
// or an included configuration leads to. Where hooks lie in the root of the tree
// itself, only what git calls a hook is held there. Paths outside of the tree are
// left out.
func (r *Rules) With(extra []string) *Rules {
	out := *r
	out.extra = slices.Clone(r.extra)
	for _, rel := range extra {
		if rel == "" {
			continue
		}
		rel = path.Clean(rel)
		switch {
		case rel == ".":
			for _, hook := range r.hooks {
				out.hold(hook)
			}
		case path.IsAbs(rel), rel == "..", strings.HasPrefix(rel, "../"):
		default:
			out.hold(rel)
		}
	}
	return &out
}

// InGit returns rules for a tree that is itself a git directory, such as that of a
// linked worktree.
func (r *Rules) InGit() *Rules {
	out := *r
	out.start = 0
	return &out
}

func (r *Rules) hold(rel string) {
	p := pattern{text: "/" + rel + "/", names: strings.Split(fold(rel), "/"), rooted: true, whole: true}
	r.extra = append(r.extra, &rule{pattern: p, verdict: &target})
}

// InGitDir reports whether something of this name matters in a directory that
// looks like a git directory without being called .git: whoever makes it has to
// look at what lies beside it, or beside its parent for "attributes".
func (r *Rules) InGitDir(name string) bool {
	name = fold(name)
	for rule := r.git.exact.find([]byte(name)); rule != nil; rule = rule.next {
		if rule.verdict.Hold {
			return true
		}
	}
	return false
}

// Row is one pattern of the data.
type Row struct {
	Pattern string
	Git     bool // relative to a git directory
	Links   bool // symbolic links only
	Rank    Rank
	Hold    bool
	Who     string
	When    string
	Why     string
}

// Table lists all patterns in the order of the data, for people.
func (r *Rules) Table() []Row {
	rows := make([]Row, 0, len(r.rules))
	for _, rule := range r.rules {
		v := rule.verdict
		rows = append(rows, Row{rule.text, rule.place == inGit, rule.links, v.Rank, v.Hold, v.Who, v.When, v.Why})
	}
	return rows
}
