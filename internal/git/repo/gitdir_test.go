package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// layouts are the ways in which people keep repositories.
var layouts = []struct {
	name  string
	build func(w *world)
	start string
	want  Repo // paths relative to the world
}{
	{"plain", func(w *world) { w.repo("main") }, "main",
		Repo{Kind: Plain, WorkTree: "main", GitDir: "main/.git", CommonDir: "main/.git", Main: "main"}},
	{"nested cwd", func(w *world) { w.repo("main"); w.mkdir("main/a/b") }, "main/a/b",
		Repo{Kind: Plain, WorkTree: "main", GitDir: "main/.git", CommonDir: "main/.git", Main: "main"}},
	{"name with spaces and bytes", func(w *world) { w.repo("a b\xff") }, "a b\xff",
		Repo{Kind: Plain, WorkTree: "a b\xff", GitDir: "a b\xff/.git", CommonDir: "a b\xff/.git", Main: "a b\xff"}},
	{"start through a symlink", func(w *world) { w.repo("main"); w.symlink("main", "link") }, "link",
		Repo{Kind: Plain, WorkTree: "main", GitDir: "main/.git", CommonDir: "main/.git", Main: "main"}},
	{"empty .git is passed over", func(w *world) { w.repo("main"); w.mkdir("main/a/.git") }, "main/a",
		Repo{Kind: Plain, WorkTree: "main", GitDir: "main/.git", CommonDir: "main/.git", Main: "main"}},
	{"detached HEAD", func(w *world) { w.repo("main"); w.git("main", "checkout", "-q", "--detach") }, "main",
		Repo{Kind: Plain, WorkTree: "main", GitDir: "main/.git", CommonDir: "main/.git", Main: "main"}},
	{"worktree", (*world).worktree, "wt",
		Repo{Kind: Worktree, WorkTree: "wt", GitDir: "main/.git/worktrees/wt", CommonDir: "main/.git", Main: "main", Extra: []string{"main/.git"}}},
	{"worktree inside its main", func(w *world) { w.repo("main"); w.git("main", "worktree", "add", "-q", "in/wt") }, "main/in/wt",
		Repo{Kind: Worktree, WorkTree: "main/in/wt", GitDir: "main/.git/worktrees/wt", CommonDir: "main/.git", Main: "main", Extra: []string{"main/.git"}}},
	{"relative worktree", relativeWorktree, "wt",
		Repo{Kind: Worktree, WorkTree: "wt", GitDir: "main/.git/worktrees/wt", CommonDir: "main/.git", Main: "main", Extra: []string{"main/.git"}}},
	{"moved and repaired worktree", func(w *world) {
		w.worktree()
		if err := os.Rename(w.path("wt"), w.path("moved")); err != nil {
			w.t.Fatal(err)
		}
		w.refused("moved")
		w.git("main", "worktree", "repair", "../moved")
	}, "moved",
		Repo{Kind: Worktree, WorkTree: "moved", GitDir: "main/.git/worktrees/wt", CommonDir: "main/.git", Main: "main", Extra: []string{"main/.git"}}},
	{"bare", func(w *world) { w.git(".", "init", "-q", "--bare", "b.git") }, "b.git",
		Repo{Kind: Bare, GitDir: "b.git", CommonDir: "b.git", Main: "b.git"}},
	{"inside bare", func(w *world) { w.git(".", "init", "-q", "--bare", "b.git") }, "b.git/objects",
		Repo{Kind: Bare, GitDir: "b.git", CommonDir: "b.git", Main: "b.git"}},
	{"worktree of bare", bareWorktree, "p/wt",
		Repo{Kind: Worktree, WorkTree: "p/wt", GitDir: "p/.bare/worktrees/wt", CommonDir: "p/.bare", Main: "p/.bare", Extra: []string{"p/.bare"}}},
	{"bare beside a gitfile", bareWorktree, "p",
		Repo{Kind: Plain, WorkTree: "p", GitDir: "p/.bare", CommonDir: "p/.bare", Main: "p"}},
	// An agent in p rearranges .git to be given the state of p/inner.
	{"gitfile to a repository inside", func(w *world) {
		w.repo("p")
		w.repo("p/inner")
		w.git("p/inner", "config", "core.worktree", w.path("p"))
		w.rename("p/.git", "p/old")
		w.write("p/.git", "gitdir: inner/.git\n")
	}, "p",
		Repo{Kind: Separate, WorkTree: "p", GitDir: "p/inner/.git", CommonDir: "p/inner/.git", Main: "p"}},
	{"submodule", (*world).super, "super/libs/sub",
		Repo{Kind: Submodule, WorkTree: "super/libs/sub", GitDir: "super/.git/modules/libs/sub", CommonDir: "super/.git/modules/libs/sub",
			Main: "super/.git/modules/libs/sub", Extra: []string{"super/.git/modules/libs/sub"}}},
	{"submodule with worktree config", func(w *world) {
		w.super()
		w.git("super/libs/sub", "config", "extensions.worktreeConfig", "true")
		w.git("super/libs/sub", "config", "--worktree", "core.worktree", "../../../../libs/sub")
		w.git("super/libs/sub", "config", "--local", "--unset", "core.worktree")
	}, "super/libs/sub",
		Repo{Kind: Submodule, WorkTree: "super/libs/sub", GitDir: "super/.git/modules/libs/sub", CommonDir: "super/.git/modules/libs/sub",
			Main: "super/.git/modules/libs/sub", Extra: []string{"super/.git/modules/libs/sub"}}},
	{"worktree of submodule", func(w *world) { w.super(); w.git("super/libs/sub", "worktree", "add", "-q", w.path("subwt")) }, "subwt",
		Repo{Kind: WorktreeOfSubmodule, WorkTree: "subwt", GitDir: "super/.git/modules/libs/sub/worktrees/subwt", CommonDir: "super/.git/modules/libs/sub",
			Main: "super/.git/modules/libs/sub", Extra: []string{"super/.git/modules/libs/sub"}}},
	{"submodule of a worktree", func(w *world) {
		w.super()
		w.git("super", "worktree", "add", "-q", "../wt")
		w.git("wt", "submodule", "--quiet", "update", "--init")
	}, "wt/libs/sub",
		Repo{Kind: Submodule, WorkTree: "wt/libs/sub", GitDir: "super/.git/worktrees/wt/modules/libs/sub", CommonDir: "super/.git/worktrees/wt/modules/libs/sub",
			Main: "super/.git/worktrees/wt/modules/libs/sub", Extra: []string{"super/.git/worktrees/wt/modules/libs/sub"}}},
	{"separate git dir that claims", func(w *world) {
		w.mkdir("s")
		w.git(".", "init", "-q", "--separate-git-dir="+w.path("s.git"), "s")
		w.refused("s")
		w.git("s", "config", "core.worktree", w.path("s"))
	}, "s",
		Repo{Kind: Separate, WorkTree: "s", GitDir: "s.git", CommonDir: "s.git", Main: "s.git", Extra: []string{"s.git"}}},
	{".git symlink inside", func(w *world) { w.repo("main"); w.rename("main/.git", "main/store"); w.symlink("store", "main/.git") }, "main",
		Repo{Kind: Plain, WorkTree: "main", GitDir: "main/store", CommonDir: "main/store", Main: "main"}},
	{".git symlink to a claimed worktree", func(w *world) { w.worktree(); w.symlink("../main/.git/worktrees/wt", "wt/.git") }, "wt",
		Repo{Kind: Worktree, WorkTree: "wt", GitDir: "main/.git/worktrees/wt", CommonDir: "main/.git", Main: "main", Extra: []string{"main/.git"}}},
	{"reached over a symlinked directory", func(w *world) {
		w.worktree()
		w.symlink("main", "alias")
		w.write("wt/.git", "gitdir: "+w.path("alias/.git/worktrees/wt")+"\n")
	}, "wt",
		Repo{Kind: Worktree, WorkTree: "wt", GitDir: "main/.git/worktrees/wt", CommonDir: "main/.git", Main: "main", Extra: []string{"main/.git"}}},
	{"alternates", func(w *world) {
		w.repo("main")
		w.git(".", "clone", "-q", "--shared", "main", "c1")
		w.git(".", "clone", "-q", "--shared", "c1", "c2")
	}, "c2",
		Repo{Kind: Plain, WorkTree: "c2", GitDir: "c2/.git", CommonDir: "c2/.git", Main: "c2", Alternates: []string{"c1/.git/objects", "main/.git/objects"}}},
}

// TestFind compares every layout with what git says of it.
func TestFind(t *testing.T) {
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tt.build(w)
			got := w.find(tt.start)
			if got == nil {
				t.Fatal("found nothing")
			}
			if diff := cmp.Diff(*w.abs(tt.want), *got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if says := w.git(tt.start, "rev-parse", "--absolute-git-dir"); says != got.GitDir {
				t.Errorf("git says %q, we say %q", says, got.GitDir)
			}
		})
	}
}

// TestKeyIsShared: what design calls one project has one Main.
func TestKeyIsShared(t *testing.T) {
	w := newWorld(t)
	w.worktree()
	w.super()
	w.git("super/libs/sub", "worktree", "add", "-q", w.path("subwt"))
	if a, b := w.find("main").Main, w.find("wt").Main; a != b {
		t.Errorf("main %q, worktree %q", a, b)
	}
	if a, b := w.find("super/libs/sub").Main, w.find("subwt").Main; a != b {
		t.Errorf("submodule %q, its worktree %q", a, b)
	}
	if a, b := w.find("super").Main, w.find("super/libs/sub").Main; a == b {
		t.Errorf("superproject and submodule share %q", a)
	}
}

func TestFindNothing(t *testing.T) {
	tests := map[string]struct {
		build func(w *world)
		start string
	}{
		"no repository":         {func(w *world) { w.mkdir("a") }, "a"},
		"above repositories":    {func(w *world) { w.repo("p/a"); w.repo("p/b") }, "p"},
		"home is a repository":  {func(w *world) { w.repo("home"); w.mkdir("home/notes") }, "home/notes"},
		"start is home":         {func(w *world) { w.repo("home") }, "home"},
		"parent of home is one": {func(w *world) { w.git(".", "init", "-q", "."); w.mkdir("home/x") }, "home/x"},
		"jj without git":        {func(w *world) { w.mkdir("a/.jj/repo/store") }, "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tt.build(w)
			if r := w.find(tt.start); r != nil {
				t.Errorf("found %+v", r)
			}
		})
	}
}

// TestForeignParent: a repository planted above by another user is not ours.
// The owners are set, not chowned, so that it holds for every user.
func TestForeignParent(t *testing.T) {
	w := newWorld(t)
	w.repo("shared")
	w.worktree()
	w.mkdir("shared/mine")
	at, err := openDir(unix.AT_FDCWD, w.path("shared/mine"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer at.close()
	me, them := uint32(os.Geteuid()), uint32(os.Geteuid())+1
	if up := (finder{home: w.home, owners: [2]uint32{me, me}}).parent(at); up == nil {
		t.Error("own parent not looked at")
	} else {
		up.close()
	}
	if up := (finder{home: w.home, owners: [2]uint32{them, them}}).parent(at); up != nil {
		up.close()
		t.Error("foreign parent looked at")
	}
	wt, err := openDir(unix.AT_FDCWD, w.path("wt"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer wt.close()
	if _, err := (finder{home: w.home, owners: [2]uint32{them, them}}).look(wt); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("foreign git directory: %v", err)
	}
}

// TestFilesystemBoundary: like git, discovery does not leave a filesystem; /proc
// is one of its own on every machine.
func TestFilesystemBoundary(t *testing.T) {
	f := finder{home: "/nowhere"}
	for path, ends := range map[string]bool{"/proc": true, "/proc/self": false} {
		at, err := openDir(unix.AT_FDCWD, path, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer at.close()
		up := f.parent(at)
		if (up == nil) != ends {
			t.Errorf("parent of %s: %+v", path, up)
		}
		if up != nil {
			up.close()
		}
	}
}

// TestMagicLink: a pointer over /proc/PID/fd means what that process has open,
// which is another thing tomorrow. The plain path is the control.
func TestMagicLink(t *testing.T) {
	w := newWorld(t)
	w.worktree()
	gd, err := os.Open(w.find("wt").GitDir)
	if err != nil {
		t.Fatal(err)
	}
	defer gd.Close()
	w.write("wt/.git", fmt.Sprintf("gitdir: /proc/%d/fd/%d\n", os.Getpid(), gd.Fd()))
	w.refused("wt")
}

// TestEnvironmentIsIgnored: git is the control, it does obey.
func TestEnvironmentIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.repo("main")
	w.repo("evil")
	t.Setenv("GIT_DIR", w.path("evil/.git"))
	t.Setenv("GIT_COMMON_DIR", w.path("evil/.git"))
	t.Setenv("GIT_WORK_TREE", w.path("evil"))
	t.Setenv("GIT_CEILING_DIRECTORIES", w.dir)
	t.Setenv("HOME", "/")
	if r := w.find("main"); r == nil || r.GitDir != w.path("main/.git") {
		t.Errorf("steered to %+v", r)
	}
	cmd := exec.Command("git", "rev-parse", "--absolute-git-dir")
	cmd.Dir = w.path("main")
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != w.path("evil/.git") {
		t.Errorf("control: git says %q, %v", out, err)
	}
}

func relativeWorktree(w *world) {
	w.worktree()
	w.write("wt/.git", "gitdir: ../main/.git/worktrees/wt\n")
	w.write("main/.git/worktrees/wt/gitdir", "../../../../wt/.git\n")
}

func bareWorktree(w *world) {
	w.repo("main")
	w.git(".", "clone", "-q", "--bare", "main", "p/.bare")
	w.write("p/.git", "gitdir: ./.bare\n")
	w.git("p", "worktree", "add", "-q", "wt")
}

func (w *world) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(w.path(from), w.path(to)); err != nil {
		w.t.Fatal(err)
	}
}

// abs makes the paths of r absolute.
func (w *world) abs(r Repo) *Repo {
	for _, p := range []*string{&r.WorkTree, &r.GitDir, &r.CommonDir, &r.Main} {
		if *p != "" {
			*p = filepath.Join(w.dir, *p)
		}
	}
	for _, list := range []*[]string{&r.Extra, &r.Alternates} {
		*list = slices.Clone(*list)
		for i, p := range *list {
			(*list)[i] = filepath.Join(w.dir, p)
		}
	}
	return &r
}
