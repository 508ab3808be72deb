package scan

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

var (
	gitRule  = &rule{Scanned: hostexec.Scanned{Files: []string{".git/config"}, Form: asGit, Partly: true}, who: "git", when: "at the next git command"}
	bareRule = &rule{Scanned: hostexec.Scanned{Files: []string{"config of a bare repository"}, Form: asGit, Partly: true}, bare: true, who: "git", when: "at the next git command in this directory"}
)

// gitDir looks at a git directory and those of its submodules and worktrees in it.
func (s *scan) gitDir(dir string) {
	if s.done["\x00git "+dir] {
		return
	}
	s.done["\x00git "+dir] = true
	s.gitSettings(dir)
	left := maxGitDirs
	s.gitDirsIn(path.Join(dir, "modules"), &left)
	s.gitDirsIn(path.Join(dir, "worktrees"), &left)
}

// gitSettings looks at what one git directory has for itself.
func (s *scan) gitSettings(dir string) {
	s.gitHome(dir)
	s.fileAs(path.Join(dir, "config"), gitRule, byName)
	s.fileAs(path.Join(dir, "config.worktree"), gitRule, byName)
	s.gitHooks(path.Join(dir, "hooks"))
	s.gitStore(path.Join(dir, ".git-credentials"))
}

// gitStore looks for a file of which nothing but logins is known: nothing of it is shown.
func (s *scan) gitStore(rel string) {
	data, real, err := s.tree.read(rel)
	if absent(err) || errors.Is(err, errAway) || err == nil && len(data) == 0 || s.done[real] {
		return
	}
	s.done[real] = true
	h := hit{kind: kLogin, what: "holds logins", seed: rel}
	s.add(rel, real, gitRule, h)
	s.report.Files = append(s.report.Files, File{Path: real, Unlogged: []byte{}})
}

// jjStore is where jj keeps the git directory of its own.
const jjStore = ".jj/repo/store/git"

// gitHome remembers where settings of git lie.
func (s *scan) gitHome(dir string) {
	fd, real, err := s.tree.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	unix.Close(fd)
	if !s.done["\x00home "+real] {
		s.done["\x00home "+real] = true
		s.report.GitDirs = append(s.report.GitDirs, real)
	}
}

// maxGitDirs bounds the names that are looked at for that. Beyond them nobody knows what is
// there, and no agent starts.
const maxGitDirs = 8192

// gitDirsIn looks for git directories: a submodule's may lie deeper, as its name has
// slashes.
func (s *scan) gitDirsIn(dir string, left *int) {
	names, err := s.tree.dirNames(dir, left)
	if errors.Is(err, unix.EACCES) { // who owns it may open it again
		s.closed(dir, err)
	}
	if *left == 0 && s.tree.isDir(dir) {
		*left = -1 // said once
		s.closed(dir, errNames)
	}
	for _, name := range names {
		at := path.Join(dir, name)
		_, _, err := s.tree.read(at + "/HEAD")
		if absent(err) {
			s.gitDirsIn(at, left)
			continue
		}
		s.gitSettings(at)
		s.gitDirsIn(at+"/modules", left)
		s.gitDirsIn(at+"/worktrees", left)
	}
}

// dirNames lists directories in a directory.
func (t *tree) dirNames(dir string, left *int) (out []string, err error) {
	fd, _, err := t.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	if *left <= 0 {
		return nil, nil
	}
	entries, _ := f.ReadDir(*left)
	*left -= len(entries)
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// gitFile looks at where a file of the name .git leads, as long as that is in the
// tree: to the git directory of a linked worktree or of a submodule, and from there to
// the one that worktrees have in common.
func (s *scan) gitFile(rel string) {
	data, _, err := s.tree.read(rel)
	text, ok := strings.CutPrefix(string(data), "gitdir:")
	if err != nil || !ok {
		return
	}
	if dir, ok := s.tree.leads(path.Dir(rel), strings.Trim(text, " \r\n")); ok {
		s.gitDir(dir)
		s.common(dir, gitRule)
	}
}

// outside looks at a git directory that lies elsewhere.
func (s *scan) outside(dir string) error {
	t, err := openTree(dir)
	if err != nil {
		return err
	}
	defer t.close()
	o := &scan{tree: t, names: s.names, report: &Report{Complete: true}, done: map[string]bool{}, texts: map[string]*text{}, contents: newContents(t)}
	o.gitDir(".")
	o.finish()
	for _, f := range o.report.Files {
		about := o.report.About(f)
		f.Path = path.Join(t.root, f.Path)
		if slices.ContainsFunc(s.report.Files, func(o File) bool { return o.Path == f.Path }) {
			continue // one of them lies in the other
		}
		s.report.Files = append(s.report.Files, f)
		for _, x := range about {
			x.Path, x.real = path.Join(t.root, x.Path), f.Path
			s.report.Findings = append(s.report.Findings, x)
		}
	}
	for _, dir := range o.report.GitDirs {
		s.report.GitDirs = append(s.report.GitDirs, path.Join(t.root, dir))
	}
	s.report.Read += o.report.Read
	s.report.Complete = s.report.Complete && o.report.Complete
	return nil
}

// common looks at the settings that a git directory shares with another one.
func (s *scan) common(dir string, r *rule) bool {
	data, _, err := s.tree.read(path.Join(dir, "commondir"))
	if err != nil {
		return false
	}
	if at, ok := s.tree.leads(dir, strings.TrimRight(string(data), " \r\n")); ok {
		s.gitHome(at)
		s.fileAs(path.Join(at, "config"), r, byName)
	}
	return true
}

// bareRepositories looks at directories that git would take for a repository without
// being called so. Without settings that run something they are what they look like.
func (s *scan) bareRepositories() {
	for _, dir := range s.heads {
		if shared := s.common(dir, bareRule); !shared && (!s.tree.isDir(dir+"/objects") || !s.tree.isDir(dir+"/refs")) {
			continue
		}
		s.gitHome(dir)
		s.fileAs(path.Join(dir, "config"), bareRule, bySight)
		s.fileAs(path.Join(dir, "config.worktree"), bareRule, bySight)
		for _, name := range s.tree.hookNames(path.Join(dir, "hooks")) {
			rel := path.Join(dir, "hooks", name)
			h := hit{kind: kBare, what: "a hook, " + quote(name), seed: name, runs: rel}
			s.add(rel, rel, bareRule, h)
			s.report.Files = append(s.report.Files, File{Path: rel, Danger: true, Digest: s.digest(rel, nil, nil, []hit{h}).sum})
		}
	}
}

func (t *tree) isDir(rel string) bool {
	fd, _, err := t.open(rel, unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		unix.Close(fd)
	}
	return err == nil
}

// gitHooks tells of hooks that somebody has put there: no clone brings them.
func (s *scan) gitHooks(dir string) {
	for _, name := range s.tree.hookNames(dir) {
		rel := path.Join(dir, name)
		if s.done[rel] {
			continue
		}
		s.done[rel] = true
		h := hit{kind: kGitHook, what: "a hook, " + quote(name), seed: name, runs: rel}
		s.add(rel, rel, nil, h)
		s.report.Files = append(s.report.Files, File{Path: rel, Digest: s.digest(rel, nil, nil, []hit{h}).sum})
	}
}

// maxHooks is more than git has.
const maxHooks = 64

func (t *tree) hookNames(dir string) []string {
	fd, _, err := t.open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	entries, _ := f.ReadDir(maxHooks)
	var out []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !e.IsDir() && !strings.HasSuffix(e.Name(), ".sample") && info.Mode()&0o111 != 0 {
			out = append(out, e.Name())
		}
	}
	return out
}
