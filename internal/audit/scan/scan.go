package scan

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// Scan looks at the tree at root. What it cannot read it says; an error is only for a
// root that is none.
func Scan(root string, b Budget) (*Report, error) {
	names, err := hostexec.Builtin()
	if err != nil {
		return nil, err
	}
	t, err := openTree(root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	s := &scan{tree: t, names: names, budget: b, report: &Report{Complete: true}, done: map[string]bool{}, texts: map[string]*text{},
		bytes: b.Bytes, starred: starredBytes, contents: newContents(t)}
	s.obeyed()
	for _, rel := range b.Also {
		if !local(rel) {
			continue
		}
		if above, _, in := strings.Cut("/"+rel+"/", "/.git/"); in { // with what no name tells of, as that of a submodule
			at := strings.TrimPrefix(above+"/.git", "/")
			s.gitDir(at)
			s.gitFile(at)
		}
		s.file(rel, bySight)
	}
	w := &walk{tree: t, budget: b, deep: b.Deep}
	w.visit = func(rel string, kind byte) {
		if w.late() {
			s.report.Complete = false
			return
		}
		if b.Deep && fetched(rel) { // no agent starts there
			s.visitGit(rel, kind)
		} else {
			s.visit(rel, kind)
		}
	}
	w.run(textDirs(names))
	s.bareRepositories()
	s.finish()
	for _, dir := range b.Git {
		if err := s.outside(dir); err != nil {
			return nil, err
		}
	}
	s.report.Entries += w.entries
	s.report.Complete = s.report.Complete && !w.cut
	s.sort()
	return s.report, nil
}

// scan is one on its way.
type scan struct {
	tree     *tree
	names    *hostexec.Rules
	budget   Budget
	report   *Report
	done     map[string]bool  // by the path without links
	texts    map[string]*text // likewise
	order    []*text
	bytes    int64           // left for what the walk meets
	starred  int64           // left for what lies in directories that are obeyed
	heads    []string        // directories that may be bare repositories
	plain    map[string]bool // names of instructions
	contents contents
	// all files of the tree, if somebody asked
	listed     bool
	entries    []entry
	entriesErr error
}

// instructs is Instructions, for names that may be some.
func (s *scan) instructs(rel, base string) bool {
	return (rel[0] == '.' || strings.Contains(rel, "/.") || s.plain[strings.ToLower(base)]) && s.names.Instructions(rel)
}

// visit is told of every name that the walk meets.
func (s *scan) visit(rel string, kind byte) {
	base := path.Base(rel)
	switch kind {
	case unix.DT_REG, unix.DT_LNK:
		if base == "HEAD" && !strings.Contains("/"+rel, "/.git/") {
			s.heads = append(s.heads, path.Dir(rel))
		}
		if base == ".git" {
			s.gitFile(rel)
		}
		if r, _ := ruleOf(rel); r != nil || s.instructs(rel, base) {
			s.file(rel, bySight)
		}
	case unix.DT_DIR:
		if base == ".git" && rel != ".git" {
			s.gitDir(rel)
		}
		if base == ".jj" {
			s.gitDir(path.Join(path.Dir(rel), jjStore))
		}
	}
}

// cause is why a file is looked at, and what it is charged to.
type cause int

const (
	bySight cause = iota // the walk met it
	byPlace              // it lies in a directory whose files are obeyed
	byName               // its name is obeyed: always read
)

// mayRead spends the budget that a file is charged to.
func (s *scan) mayRead(why cause, n int) bool {
	left := &s.bytes
	switch why {
	case byName:
		return true
	case byPlace:
		left = &s.starred
	}
	if int64(n) > *left {
		return false
	}
	*left -= int64(n)
	return true
}

// file looks at one file, if it is there.
func (s *scan) file(rel string, why cause) {
	r, home := ruleOf(rel)
	s.judgeFile(name{rel, r, r == nil || r.Form == asFront || r.Form == asGit || s.starts(home)}, why)
}

// fileAs is for one whose name does not say what it is.
func (s *scan) fileAs(rel string, r *rule, why cause) { s.judgeFile(name{rel, r, true}, why) }

func (s *scan) judgeFile(n name, why cause) {
	rel, r, counts := n.rel, n.rule, n.counts
	data, real, err := s.tree.read(rel)
	key := real + "\x00" + ruleName(r)
	if counts {
		key += "\x00"
	}
	switch {
	case absent(err) || s.done[key]:
		return
	case errors.Is(err, errAway):
		s.away(rel, r, counts, err)
		return
	case err == nil && !s.mayRead(why, len(data)):
		if r == nil || !counts { // read by nobody unasked
			s.report.Complete = false
			return
		}
		err = errBudget
	}
	s.done[key] = true
	if err != nil {
		s.unread(rel, real, r, counts, err)
		return
	}
	s.report.Read++
	if strings.Contains(rel, "/") && len(s.report.Known) < 512 {
		s.report.Known = append(s.report.Known, rel)
	}
	s.content(n, real, data)
}

// starts reports whether an agent that starts where it was said reads settings of a
// directory: those from the root on.
func (s *scan) starts(dir string) bool {
	return dir == "." || s.budget.Dir == dir || strings.HasPrefix(s.budget.Dir, dir+"/")
}

func ruleName(r *rule) string {
	if r == nil {
		return ""
	}
	return r.Files[0]
}

func (s *scan) sort() {
	slices.SortStableFunc(s.report.Findings, func(a, b Finding) int {
		if a.Level != b.Level {
			return strings.Compare(string(a.Level), string(b.Level))
		}
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	slices.SortStableFunc(s.report.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(s.report.Known)
	s.report.Known = slices.Compact(s.report.Known)
}

// secret says what a path outside of the tree holds, "" if nothing that is known.
func (s *scan) secret(p string) string {
	const home = "/home/somebody"
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		p = home + rest
	}
	if !path.IsAbs(p) {
		return ""
	}
	if e, ok := knownsecrets.Path(home, path.Clean(p)); ok {
		return e.What
	}
	return ""
}
