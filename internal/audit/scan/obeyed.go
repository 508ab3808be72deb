package scan

import (
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// What agents obey without being asked is looked at whatever else the tree holds: no
// budget of the walk ends it. It has bounds of its own, and what is beyond them is
// not shown inside.
const (
	starredNames = 8192     // in one directory whose files are obeyed, with all below it
	starredDepth = 16       // below it
	starredBytes = 16 << 20 // of such files in all
)

// obeyed looks at settings and instructions of the root and of every directory from
// there to where an agent starts.
func (s *scan) obeyed() {
	fixed := s.fixed()
	homes := []string{"."}
	for dir := s.budget.Dir; dir != "" && dir != "." && local(dir); dir = path.Dir(dir) {
		homes = append(homes, dir)
	}
	for _, home := range homes {
		for _, rel := range fixed {
			s.file(path.Join(home, rel), byName)
		}
		for _, dir := range starredDirs() {
			s.starredDir(path.Join(home, dir))
		}
	}
	s.gitDir(".git")
	s.gitFile(".git")
	s.gitDir(jjStore)
}

// fixed are the names of files of settings and instructions.
func (s *scan) fixed() []string {
	var out []string
	for _, r := range rules() {
		for _, f := range r.Files {
			if !strings.Contains(f, "*") {
				out = append(out, f)
			}
		}
	}
	s.plain = map[string]bool{}
	for _, f := range s.names.InstructionFiles() {
		s.plain[strings.ToLower(path.Base(f))] = true
		out = append(out, f)
	}
	return out
}

// starredDirs are those in which a file of any name is obeyed.
var starredDirs = sync.OnceValue(func() []string {
	var out []string
	for _, r := range rules() {
		for _, f := range r.Files {
			if at := strings.IndexByte(f, '*'); at > 0 && !r.Shown {
				if dir := path.Dir(f[:at] + "x"); dir != "." && !slices.Contains(out, dir) {
					out = append(out, dir)
				}
			}
		}
	}
	return out
})

// textDirs are walked first: those in which files of any name count.
func textDirs(names *hostexec.Rules) []string {
	return append([]string{".claude", ".github", ".cursor"}, names.InstructionDirs()...)
}

// starredDir lists one of them to its end. Agents follow links there.
func (s *scan) starredDir(dir string) {
	if fd, _, err := s.tree.open(dir, unix.O_PATH); err == nil {
		unix.Close(fd)
	} else {
		if !absent(err) {
			s.closed(dir, err)
		}
		return
	}
	w := &walk{tree: s.tree, all: true, only: true, budget: Budget{Entries: starredNames, Depth: starredDepth + strings.Count(dir, "/"), Time: time.Hour}}
	w.visit = func(rel string, kind byte) {
		if r, _ := ruleOf(rel); r != nil && (kind == unix.DT_REG || kind == unix.DT_LNK) {
			s.file(rel, byPlace)
		}
	}
	w.closed, w.below = s.closed, s.meaning
	w.run([]string{dir})
	s.report.Entries += w.entries
	if w.cut {
		s.closed(dir, errNames)
	}
}

// closed is for a directory in which files of any name are obeyed and which cannot be
// looked at: no agent starts with it.
func (s *scan) closed(dir string, err error) {
	r := &rule{who: "an agent", when: "when its next session starts"}
	if awayTo(err) != "" {
		s.away(dir, r, true, err)
		return
	}
	if s.done[dir] {
		return
	}
	s.done[dir] = true
	h := unclear(err)
	h.what = "a directory whose files are obeyed, and not looked into: " + err.Error()
	s.add(dir, dir, r, h)
	s.report.Files = append(s.report.Files, File{Path: dir, Danger: true, Stops: err.Error()})
}
