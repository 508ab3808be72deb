package scan

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// GitLogins looks for settings of git that hold a login, in a tree that no agent is started
// in: what else they say is not judged. Of a file that cannot be read as git does, nobody
// knows what it holds; it is shown empty.
func GitLogins(root string, b Budget) (*Report, error) {
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
		bytes: b.Bytes, contents: newContents(t)}
	s.gitDir(".git")
	s.gitFile(".git")
	s.gitDir(jjStore)
	for _, rel := range b.Also {
		if local(rel) {
			s.gitDir(rel)
			s.gitFile(rel)
		}
	}
	w := &walk{tree: t, budget: b, deep: b.Deep}
	w.visit = s.visitGit
	w.run(nil)
	s.bareRepositories()
	s.finish()
	s.report.Entries += w.entries
	s.report.Complete = s.report.Complete && !w.cut
	s.onlyLogins()
	s.sort()
	return s.report, nil
}

// visitGit is told of every name that a walk meets which looks for nothing else.
func (s *scan) visitGit(rel string, kind byte) {
	switch base := path.Base(rel); {
	case base == ".git" && kind == unix.DT_DIR:
		s.gitDir(rel)
	case base == ".jj" && kind == unix.DT_DIR:
		s.gitDir(path.Join(path.Dir(rel), jjStore))
	case base == ".git":
		s.gitFile(rel)
	case base == "HEAD" && kind == unix.DT_REG:
		s.heads = append(s.heads, path.Dir(rel))
	}
}

// onlyLogins leaves the files that hold one, or may, and what stands for them for that
// alone.
func (s *scan) onlyLogins() {
	var out []File
	for _, f := range s.report.Files {
		if f.Unlogged != nil {
			f.Neutral, f.Mended = f.Unlogged, true
		} else if !slices.ContainsFunc(s.report.About(f), func(x Finding) bool { return x.ID == kUnclear.id }) {
			continue
		}
		out = append(out, f)
	}
	s.report.Files = out
}
