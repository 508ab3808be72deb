package undo

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/tier"
)

var (
	interleavings = flag.Int("interleavings", tier.Times(12, 40), "how many random sessions with git are undone")
	firstSeed     = flag.Uint64("first-seed", 1, "the seed of the first of them")
)

// onceWrong are seeds that once lost something of somebody, or were said to.
var onceWrong = []uint64{103157, 700457, 700672, 701110}

// TestInterleavings: a session and the host work on one repository with real git, in any
// order, and the session is undone. Git is the judge.
func TestInterleavings(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("no git")
	}
	seeds := slices.Clone(onceWrong)
	for n := range *interleavings {
		seeds = append(seeds, *firstSeed+uint64(n))
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newScene(t, seed).play() })
	}
}

// scene is one repository, what happened to it, and who did it.
type scene struct {
	t     *testing.T
	rng   *rand.Rand
	base  string
	tree  string
	store *Store
	done  []string
	made  int
}

func newScene(t *testing.T, seed uint64) *scene {
	base := t.TempDir()
	s := &scene{t: t, rng: rand.New(rand.NewPCG(seed, 7)), base: base, tree: filepath.Join(base, "tree")}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("what happened:\n" + strings.Join(s.done, "\n"))
		}
	})
	s.must(os.Mkdir(s.tree, 0o755))
	s.sh("git init -q -b main . && echo 1 >a && echo 1 >b && mkdir d && echo 1 >d/c && git add . && git commit -qm one" +
		" && echo 2 >>a && git commit -qam two && git branch old HEAD~1 && git tag v1")
	if s.rng.IntN(2) == 0 {
		s.sh("git gc -q")
	}
	for range s.rng.IntN(3) * int(min(seed, 1)) { // none for scenes that are written down
		s.act("before")
	}
	return s
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// run runs commands in the tree as they would on any machine.
func (s *scene) run(command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = s.tree
	s.made++
	date := fmt.Sprintf("%d +0000", 1700000000+s.made)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.base, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.test",
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date, "GIT_EDITOR=true", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *scene) sh(command string) string {
	s.t.Helper()
	out, err := s.run(command)
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// actions is what people and agents do in a repository. That one fails is part of the game.
var actions = []string{
	"echo N >>F && git add F && git commit -qm N", "echo N >>F && git add F && git commit -qm N", "echo N >>F && git commit -qam N",
	"git branch B", "git branch -f B HEAD", "git branch -D B", "git tag -f T", "git tag -f -m note T", "git tag -d T",
	"git checkout -q B", "git checkout -q -f B", "git checkout -q -b B", "git checkout -q --detach", "git switch -q main",
	"git merge -q -m merged B", "git merge --abort", "git rebase -q B", "git rebase --abort", "git cherry-pick B", "git cherry-pick --abort",
	"git stash -q", "git stash -q -u", "git stash pop -q", "git stash drop -q",
	"git gc -q", "git gc -q --prune=now", "git reflog expire --expire=now --all", "git prune --expire=now", "git repack -adq",
	"git pack-refs --all", "git reset -q --hard HEAD~1", "git reset -q --hard B", "git reset -q", "git commit -q --amend -m amended",
	"git worktree add -q wt B", "git worktree add -q -b B wt", "git worktree remove -f wt", "git worktree prune",
	"cd wt && echo N >>F && git add F && git commit -qm N", "cd wt && git checkout -q -f B",
	"echo N >F", "echo N >>F", "rm -f F", "git rm -qf F", "git mv F G", "git add -A", "mv d e || mv e d",
	"git status", "git branch -m B C", "git update-ref refs/notes/x HEAD", "git notes add -f -m N", "git symbolic-ref refs/heads/sym refs/heads/B",
	"git init -q inner && cd inner && echo N >F && git add . && git commit -qm N", "cd inner && echo N >F && git add . && git commit -qm N",
	"cd inner && git gc -q --prune=now", "rm -rf inner", "git clone -q . inner", "git fetch -q ./inner HEAD:refs/heads/B",
	"git clone -q --bare . bare.x", "cd bare.x && git branch B", "git push -q bare.x HEAD:refs/heads/B", "git commit-graph write --reachable",
	"git multi-pack-index write", "git revert --no-edit HEAD", "git bisect start HEAD HEAD~1", "git bisect reset", "git update-index --refresh",
}

var blanks = map[string][]string{
	"F": {"a", "b", "d/c", "new", "d/new"}, "G": {"moved", "a", "b"}, "B": {"main", "old", "feat", "x/y", "x"}, "C": {"other", "x/z"}, "T": {"v1", "v2"},
}

func (s *scene) act(who string) {
	words := strings.Fields(actions[s.rng.IntN(len(actions))])
	s.made++
	for i, w := range words {
		at := strings.LastIndexAny(w, ">/") + 1
		if choice := blanks[w[at:]]; choice != nil {
			words[i] = w[:at] + choice[s.rng.IntN(len(choice))]
		} else if w == "N" {
			words[i] = fmt.Sprint(who, s.made)
		}
	}
	line := strings.Join(words, " ")
	_, err := s.run(line)
	s.done = append(s.done, fmt.Sprintf("%-8s %s: %v", who, line, err))
}

// shot is what is in the tree, by path: what it is, with its inode.
type shot map[string]shotFile

type shotFile struct {
	says string
	ino  uint64
	dir  bool
}

func (s *scene) shoot(copyTo string) shot {
	all := shot{}
	s.must(filepath.WalkDir(s.tree, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == s.tree {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		rel := path[len(s.tree)+1:]
		f := shotFile{ino: st.Ino, dir: e.IsDir()}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			f.says, err = os.Readlink(path)
		case !f.dir:
			var b []byte
			b, err = os.ReadFile(path)
			f.says = string(b)
		}
		all[rel] = f
		if err == nil && copyTo != "" {
			err = s.copyTo(filepath.Join(copyTo, rel), f, &st)
		}
		return err
	}))
	return all
}

func (s *scene) copyTo(path string, f shotFile, st *unix.Stat_t) error {
	if f.dir {
		return os.Mkdir(path, 0o755)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return os.Symlink(f.says, path)
	}
	if err := os.WriteFile(path, []byte(f.says), 0o600); err != nil {
		return err
	}
	if err := os.Chmod(path, fs.FileMode(st.Mode&0o777)); err != nil {
		return err
	}
	times := []unix.Timespec{st.Mtim, st.Mtim}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, times, 0)
}

// session does something of which the store is told, from a copy of what was there.
func (s *scene) session(do func()) {
	s.made++
	was := filepath.Join(s.base, fmt.Sprint("was", s.made))
	s.must(os.Mkdir(was, 0o755))
	before := s.shoot(was)
	do()
	after := s.shoot("")
	fd, err := unix.Open(was, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	s.must(err)
	defer unix.Close(fd)
	names := slices.Sorted(maps.Keys(before))
	slices.Reverse(names)
	for _, rel := range names {
		old := before[rel]
		now, there := after[rel]
		if there && old == now {
			continue
		}
		how := Remove
		if there && old.ino == now.ino && old.dir == now.dir {
			if how = Write; old.dir {
				continue
			}
		}
		s.save(fd, rel, how)
		if there && how == Remove {
			s.must(s.store.Created(0, rel, now.dir))
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(after)) {
		if _, had := before[rel]; !had {
			s.must(s.store.Created(0, rel, after[rel].dir))
		}
	}
}

func (s *scene) save(root int, rel string, how How) {
	dir, name := split(rel)
	fd, err := openAt(root, dir, unix.O_PATH|unix.O_DIRECTORY)
	s.must(err)
	defer unix.Close(fd)
	s.must(s.store.Save(0, rel, fd, name, how))
}

func (s *scene) play() {
	var err error
	dir := filepath.Join(s.base, "store")
	s.store, err = Create(dir, []string{s.tree}, roomy)
	s.must(err)
	start := s.state(false)
	for range 1 + s.rng.IntN(5) {
		if s.rng.IntN(8) == 0 {
			s.act("meanwhile")
		}
		s.session(func() { s.act("session") })
	}
	s.must(s.store.Close())
	end := s.state(false)
	for range s.rng.IntN(6) {
		s.act("host")
	}
	if s.sick() != "" {
		return // git itself left it so
	}
	s.undo(dir, start, end)
}

func (s *scene) undo(dir string, start, end *gitState) {
	now := s.state(true)
	l, err := Open(dir)
	s.must(err)
	defer l.Close()
	results, err := l.Restore(0, nil, false)
	s.must(err)
	conflicts := 0
	for _, r := range results {
		s.done = append(s.done, fmt.Sprintf("undo     %s %s %s", r.Outcome, r.Path, r.Why))
		if r.Outcome == Conflict || r.Outcome == NotKept {
			conflicts++
		}
	}
	s.healthy("after undo")
	then := s.state(true)
	s.lostNothing(end, now, then)
	if strings.Contains(strings.Join(s.done, "\n"), "meanwhile") || conflicts > 0 {
		return
	}
	if maps.Equal(end.refs, now.refs) && !maps.Equal(start.refs, then.refs) {
		s.t.Errorf("nobody was in the way, and the refs are not as before:\n%v\n%v", start.refs, then.refs)
	}
}

// lostNothing: what the host changed after the session is as the host left it, and no
// object is gone.
func (s *scene) lostNothing(end, now, then *gitState) {
	for name, value := range now.refs {
		file := strings.Replace(name, ". refs/", ".git/refs/", 1)
		if f := now.files[file]; f.says != "" && f == end.files[file] && strings.HasPrefix(f.says, "ref: ") {
			continue // it names another, and only that was made
		}
		if end.refs[name] != value && then.refs[name] != value {
			s.t.Errorf("the host moved %s to %s, and now it is %q", name, value, then.refs[name])
		}
	}
	for rel, f := range now.files {
		if !strings.Contains("/"+rel, "/.git/") && !strings.HasPrefix(rel, "bare.x/") && !f.dir && end.files[rel] != f && then.files[rel].says != f.says {
			s.t.Errorf("the host changed %s, and now it is %q", rel, then.files[rel].says)
		}
	}
	for repo, had := range now.objects {
		left, there := then.objects[repo]
		for id := range had {
			if there && !left[id] {
				s.t.Errorf("%s: object %s is gone", repo, id)
			}
		}
	}
}

// gitState is what git says of every repository.
type gitState struct {
	refs    map[string]string
	objects map[string]map[string]bool
	files   shot
}

var repositories = []string{".", "inner", "bare.x"}

func (s *scene) state(objects bool) *gitState {
	st := &gitState{refs: map[string]string{}, objects: map[string]map[string]bool{}, files: s.shoot("")}
	for _, repo := range repositories {
		if !s.isRepo(repo) {
			continue
		}
		if _, err := s.run("cd " + repo + " && GIT_CEILING_DIRECTORIES=" + s.tree + " git rev-parse --git-dir"); err != nil && repo != "." {
			continue // of what is left of one git would tell about the repository around it
		}
		out, _ := s.run("cd " + repo + " && { git for-each-ref --format='%(refname) %(if)%(symref)%(then)%(symref)%(else)%(objectname)%(end)'; echo HEAD $(git symbolic-ref -q HEAD || git rev-parse HEAD); }")
		for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
			name, value, _ := strings.Cut(line, " ")
			st.refs[repo+" "+name] = value
		}
		if !objects {
			continue
		}
		ids, _ := s.run("cd " + repo + " && git cat-file --batch-all-objects --batch-check='%(objectname)'")
		st.objects[repo] = map[string]bool{}
		for _, id := range strings.Fields(ids) {
			st.objects[repo][id] = true
		}
	}
	return st
}

// isRepo also holds for what is only left of one.
func (s *scene) isRepo(repo string) bool {
	for _, name := range []string{".git", "objects"} {
		if _, err := os.Lstat(filepath.Join(s.tree, repo, name)); err == nil && (repo != "." || name == ".git") {
			return true
		}
	}
	return false
}

// sick says what git finds wrong.
func (s *scene) sick() string {
	for _, repo := range repositories {
		if !s.isRepo(repo) {
			continue
		}
		out, err := s.run("cd " + repo + " && git fsck --full --no-dangling && git log --all --oneline && git reflog --all")
		if err != nil || strings.Contains(out, "missing") || strings.Contains(out, "error:") || strings.Contains(out, "broken") || strings.Contains(out, "warning: ignoring") {
			return fmt.Sprintf("%s: %v\n%s", repo, err, out)
		}
	}
	return ""
}

func (s *scene) healthy(when string) {
	s.t.Helper()
	if wrong := s.sick(); wrong != "" {
		s.t.Fatalf("%s: %s", when, wrong)
	}
}

// TestGitScenes are those that once went wrong, and what they must leave.
func TestGitScenes(t *testing.T) {
	for name, c := range map[string]struct{ session, host, then string }{
		"a branch keeps the commit":    {"echo 2 >a && git commit -qam s", "git branch keep", "git log keep && ! git log main --format=%s | grep -q '^s$'"},
		"a commit on top":              {"echo 2 >a && git commit -qam s", "echo 3 >b && git commit -qam h", "git log --format=%s | grep -q '^h$'"},
		"a commit on a new branch":     {"git checkout -q -b feat", "echo 3 >b && git commit -qam h", "test $(git symbolic-ref HEAD) = refs/heads/feat"},
		"the host is on the branch":    {"git branch feat", "git checkout -q feat", "git rev-parse feat"},
		"packed since, as it was":      {"echo 2 >a && git commit -qam s", "git pack-refs --all", "! git log main --format=%s | grep -q '^s$'"},
		"packed with a commit on top":  {"echo 2 >a && git commit -qam s", "echo 3 >b && git commit -qam h && git pack-refs --all", "git log main --format=%s | grep -q '^h$'"},
		"pruned what a ref would need": {"git reset -q --hard HEAD~1 && git branch -D -q old; git tag -d v1; git reflog expire --expire=now --all", "git gc -q --prune=now", "git fsck"},
		"packed by the session":        {"git gc -q --prune=now", "true", "git rev-parse main old v1"},
		"looked at":                    {"echo 2 >a && git commit -qam s", "git status", "git diff --cached --quiet && git diff --quiet"},
		"a branch deleted since":       {"git checkout -q -b feat", "git branch -D main", "git rev-parse HEAD"},
		"a repository gone on with":    {"git init -q inner && cd inner && echo 1 >x && git add . && git commit -qm s", "cd inner && echo 2 >y && git add . && git commit -qm h", "cd inner && git log && test -e x"},
		"a repository left alone":      {"git init -q inner && cd inner && echo 1 >x && git add . && git commit -qm s", "cd inner && git status", "test ! -e inner"},
		"a worktree gone on with":      {"git worktree add -q wt old", "cd wt && git checkout -q -b w && echo 2 >y && git add . && git commit -qm h", "cd wt && git log && git status"},
		"a worktree left alone":        {"git worktree add -q -b w wt", "true", "test ! -e wt && test ! -e .git/worktrees && ! git rev-parse -q --verify w"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0)
			dir := filepath.Join(s.base, "store")
			var err error
			s.store, err = Create(dir, []string{s.tree}, roomy)
			s.must(err)
			start := s.state(false)
			s.session(func() { s.sh(c.session) })
			s.must(s.store.Close())
			end := s.state(false)
			s.sh(c.host)
			s.undo(dir, start, end)
			s.sh(c.then)
		})
	}
}
