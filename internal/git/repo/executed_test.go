package repo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pipe puts a pipe in the place of a file.
func (w *world) pipe(rel string) {
	w.t.Helper()
	if err := os.Remove(w.path(rel)); err != nil {
		w.t.Fatal(err)
	}
	w.fifo(rel)
}

// executes lists what settings lead to, of the repository main.
var executes = []struct {
	name string
	make func(w *world)
	want []string // relative to the world
}{
	{"nothing", func(w *world) {}, nil},
	{"hooksPath", func(w *world) { w.git("main", "config", "core.hooksPath", "ci/hooks") }, []string{"main/ci/hooks"}},
	{"hooksPath, another case", func(w *world) { w.write("main/.git/config", "[CORE]\n\tHOOKSPATH = ci\n") }, []string{"main/ci"}},
	{"hooksPath by a link", func(w *world) {
		w.mkdir("main/real")
		w.symlink("real", "main/linked")
		w.git("main", "config", "core.hooksPath", "linked")
	}, []string{"main/real"}},
	{"hooksPath elsewhere", func(w *world) { w.git("main", "config", "core.hooksPath", w.path("shared")) }, []string{"shared"}},
	{"hooksPath at home", func(w *world) { w.git("main", "config", "core.hooksPath", "~/hooks") }, nil},
	{"attributes", func(w *world) { w.git("main", "config", "core.attributesFile", "my.attributes") }, []string{"main/my.attributes"}},
	{"include", func(w *world) { w.git("main", "config", "include.path", "../team.gitconfig") }, []string{"main/team.gitconfig"}},
	{"includeIf", func(w *world) {
		w.git("main", "config", "includeIf.gitdir:~/x.path", "../if.gitconfig")
	}, []string{"main/if.gitconfig"}},
	{"filter", func(w *world) {
		w.mkdir("main/tools")
		w.write("main/tools/clean.sh", "")
		w.git("main", "config", "filter.x.clean", "sh ./tools/clean.sh --fast %f")
	}, []string{"main/tools/clean.sh"}},
	{"filter without a file", func(w *world) { w.git("main", "config", "filter.x.clean", "sh ./tools/clean.sh") }, nil},
	{"alias", func(w *world) {
		w.write("main/run.sh", "")
		w.git("main", "config", "alias.x", "!'./run.sh';true")
	}, []string{"main/run.sh"}},
	{"fsmonitor", func(w *world) {
		w.write("main/watch", "")
		w.git("main", "config", "core.fsmonitor", "./watch")
	}, []string{"main/watch"}},
	{"links as hooks", func(w *world) {
		w.mkdir("main/.git/hooks")
		w.write("main/check.sh", "")
		w.symlink("../../check.sh", "main/.git/hooks/pre-commit")
		w.write("main/.git/hooks/post-commit", "")
	}, []string{"main/check.sh"}},
	{"a link as hooks", func(w *world) {
		w.mkdir("main/ci")
		w.symlink("../ci", "main/.git/hooks")
	}, []string{"main/ci"}},
	{"a link as config", func(w *world) {
		w.write("main/team", "[core]\n\thooksPath = ci\n")
		w.symlink("../team", "main/.git/config")
	}, []string{"main/team", "main/ci"}},
	{"a pipe as config", func(w *world) { w.pipe("main/.git/config") }, nil},
	{"no config at all", func(w *world) { w.write("main/.git/config", "[core\nhooksPath=x\x00") }, nil},
}

func TestExecuted(t *testing.T) {
	for _, c := range executes {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.repo("main")
			r := w.find("main")
			c.make(w)
			w.executed(r, c.want)
		})
	}
}

func (w *world) executed(r *Repo, want []string) {
	w.t.Helper()
	var abs []string
	for _, p := range want {
		abs = append(abs, w.path(p))
	}
	got := Executed(r)
	slices.Sort(got)
	slices.Sort(abs)
	if got, abs = slices.Compact(got), slices.Compact(abs); !slices.Equal(got, abs) {
		w.t.Errorf("Executed: %q, want %q", got, abs)
	}
}

func TestExecutedOfWorktree(t *testing.T) {
	w := newWorld(t)
	w.worktree()
	w.git("main", "config", "extensions.worktreeConfig", "true")
	w.git("wt", "config", "--worktree", "core.hooksPath", "own")
	w.executed(w.find("wt"), []string{"wt/own"})
}

func TestExecutedOfSubmodule(t *testing.T) {
	w := newWorld(t)
	w.super()
	r := w.find("super")
	w.git("super/libs/sub", "config", "core.hooksPath", "ci")
	w.write("super/libs/sub/x.sh", "")
	w.git("super/libs/sub", "config", "filter.x.smudge", "./x.sh")
	w.executed(r, []string{"super/libs/sub/ci", "super/libs/sub/x.sh"})
	w.pipe("super/.git/modules/libs/sub/config")
	w.executed(r, nil)
}

func TestHead(t *testing.T) {
	id := func(w *world, rel string) string { return w.git(rel, "rev-parse", "HEAD") }
	none := func(*world, string) string { return "" }
	for _, c := range []struct {
		name, repo string
		make       func(w *world)
		want       func(w *world, rel string) string
	}{
		{"branch", "main", func(*world) {}, id},
		{"worktree", "wt", func(w *world) { w.git("wt", "commit", "-q", "--allow-empty", "-m", "second") }, id},
		{"packed", "main", func(w *world) { w.git("main", "pack-refs", "--all") }, id},
		{"packed, of a worktree", "wt", func(w *world) { w.git("wt", "pack-refs", "--all") }, id},
		{"detached", "main", func(w *world) { w.git("main", "checkout", "-q", "--detach") }, id},
		{"slashes", "main", func(w *world) { w.git("main", "checkout", "-q", "-b", "a/b/c") }, id},
		{"no commit", "main", func(w *world) { w.git("main", "checkout", "-q", "--orphan", "new") }, none},
		{"out of it", "main", func(w *world) {
			w.write("secret", strings.Repeat("a", 40))
			w.write("main/.git/HEAD", "ref: ../../secret\n")
		}, none},
		{"absolute", "main", func(w *world) {
			w.write("secret", strings.Repeat("a", 40))
			w.write("main/.git/HEAD", "ref: "+w.path("secret")+"\n")
		}, none},
		{"no object", "main", func(w *world) { w.write("main/.git/HEAD", strings.Repeat("Z", 40)+"\n") }, none},
		{"too long", "main", func(w *world) { w.write("main/.git/HEAD", strings.Repeat("a", 5000)) }, none},
		{"option", "main", func(w *world) { w.write("main/.git/HEAD", "--upload-pack=x\n") }, none},
		{"pipe", "main", func(w *world) { w.pipe("main/.git/HEAD") }, none},
		{"pipe as branch", "main", func(w *world) {
			w.write("main/.git/HEAD", "ref: refs/heads/p\n")
			w.fifo("main/.git/refs/heads/p")
		}, none},
		{"pipe as packed refs", "main", func(w *world) {
			w.write("main/.git/HEAD", "ref: refs/heads/p\n")
			w.fifo("main/.git/packed-refs")
		}, none},
		{"link out of it", "main", func(w *world) {
			w.write("main/.git/HEAD", "ref: refs/heads/l\n")
			w.symlink(filepath.Join(w.dir, "nowhere"), "main/.git/refs/heads/l")
		}, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.worktree()
			r := w.find(c.repo)
			c.make(w)
			if got, want := Head(r), c.want(w, c.repo); got != want {
				t.Errorf("Head: %q, want %q", got, want)
			}
		})
	}
	if got := Head(&Repo{}); got != "" {
		t.Errorf("Head without a repository: %q", got)
	}
}
