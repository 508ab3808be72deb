package repo

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/internal/file"
)

// hostileWorld holds the linked worktree wt of main, and what an attacker would
// like to reach instead of main/.git/worktrees/wt.
func hostileWorld(t *testing.T) *world {
	w := newWorld(t)
	w.worktree()
	w.repo("other")
	w.git("other", "worktree", "add", "-q", "../owt")
	w.bare("evil.git")
	w.bare("wt/in.git")
	w.bare("wt/nested/.git")
	w.mkdir("home/.ssh")
	w.mkdir("deep/x")
	w.symlink("../deep/x", "wt/hop") // hop/../evil.git: deep/evil.git to the kernel, wt/evil.git to a lexer
	w.bare("deep/evil.git")
	w.bare("wt/evil.git")
	w.symlink("../main/.git/worktrees/wt", "wt/link")
	w.symlink("../main/.git", "wt/up")
	w.symlink("../evil.git", "wt/evillink")
	w.write("wt/file", "gitdir: ../evil.git\n")
	return w
}

// gitfiles returns the shapes of .git, and of each whether it has to be taken.
func gitfiles(w *world) map[string]struct {
	content string
	taken   bool
} {
	type shape = struct {
		content string
		taken   bool
	}
	good := w.path("main/.git/worktrees/wt")
	shapes := map[string]shape{
		"canonical":                 {"gitdir: " + good + "\n", true},
		"no newline":                {"gitdir: " + good, true},
		"relative":                  {"gitdir: ../main/.git/worktrees/wt\n", true},
		"dot":                       {"gitdir: ./../main/.git/worktrees/wt\n", true},
		"double slash":              {"gitdir: ..//main/.git/worktrees//wt\n", true},
		"trailing slash":            {"gitdir: ../main/.git/worktrees/wt/\n", true},
		"no-op dotdot":              {"gitdir: ../main/../main/.git/worktrees/wt\n", true},
		"symlink, no dotdot":        {"gitdir: link\n", true},
		"inside":                    {"gitdir: in.git\n", true},
		"bare inside, via hop name": {"gitdir: evil.git\n", true},
	}
	no := map[string]string{
		"empty": "", "newline": "\n", "no path": "gitdir: ", "no path, newline": "gitdir: \n", "only spaces": "gitdir:   \n",
		"no space": "gitdir:" + good, "tab": "gitdir:\t" + good, "two spaces": "gitdir:  " + good, "upper case": "GITDIR: " + good,
		"leading newline": "\ngitdir: " + good, "leading space": " gitdir: " + good, "BOM": "\ufeffgitdir: " + good,
		"CRLF": "gitdir: " + good + "\r\n", "CR": "gitdir: " + good + "\r", "CR inside": "gitdir: ../\r" + good,
		"two newlines": "gitdir: " + good + "\n\n", "trailing space": "gitdir: " + good + " \n", "trailing tab": "gitdir: " + good + "\t",
		"second line": "gitdir: " + good + "\ngitdir: ../evil.git\n", "second line first": "gitdir: ../evil.git\ngitdir: " + good + "\n",
		"comment": "gitdir: " + good + " # x\n", "NUL end": "gitdir: " + good + "\x00", "NUL inside": "gitdir: ../evil.git\x00" + good,
		"NUL first": "\x00gitdir: " + good, "quoted": `gitdir: "` + good + `"`, "vertical tab": "gitdir: " + good + "\v", "form feed": "gitdir: " + good + "\f\n",
		"newline in path": "gitdir: " + good + "\n/../evil", "DEL": "gitdir: " + good + "\x7f", "worktree key": "worktree: " + good + "\n",
		"evil": "gitdir: ../evil.git\n", "evil absolute": "gitdir: " + w.path("evil.git") + "\n", "evil by symlink": "gitdir: evillink\n",
		"hop": "gitdir: hop/../evil.git\n", "hop, more": "gitdir: hop/../../deep/evil.git\n", "hop absolute": "gitdir: " + w.dir + "/wt/hop/../evil.git" + "\n",
		"hop to good": "gitdir: hop/../../main/.git/worktrees/wt\n", "up": "gitdir: up/worktrees/../worktrees/wt\n", "link and dotdot": "gitdir: link/../wt\n",
		"nested repository": "gitdir: nested/.git\n", "other main": "gitdir: ../other/.git\n", "own main": "gitdir: ../main/.git\n", "own main by symlink": "gitdir: up\n",
		"other worktree": "gitdir: ../other/.git/worktrees/owt\n", "worktrees": "gitdir: ../main/.git/worktrees\n", "objects": "gitdir: ../main/.git/objects\n",
		"ssh": "gitdir: " + w.home + "/.ssh\n", "home": "gitdir: " + w.home + "\n", "root": "gitdir: /\n", "dot only": "gitdir: .\n", "dotdot only": "gitdir: ..\n",
		"itself": "gitdir: .git\n", "a file": "gitdir: file\n", "missing": "gitdir: nowhere\n", "proc self": "gitdir: /proc/self/cwd\n", "proc root": "gitdir: /proc/1/root\n",
		"proc fd": "gitdir: /proc/self/fd/0\n", "dev": "gitdir: /dev/fd\n", "tilde": "gitdir: ~/.ssh\n", "variable": "gitdir: $HOME/.ssh\n", "escape": "gitdir: ../evil\\.git\n",
		"empty component name too long": "gitdir: " + strings.Repeat("a", 300) + "\n", "long": "gitdir: " + strings.Repeat("./", 3000) + "../evil.git\n",
		"garbage": "\xff\xfe\x00\x01", "ref": "ref: refs/heads/master\n", "html": "<html>\n",
	}
	for name, content := range no {
		shapes[name] = shape{content, false}
	}
	for _, n := range []int{100, 4096, 9000, 64 << 10, 1<<20 - 100, 1 << 20, 2 << 20} {
		for name, pad := range map[string]string{"newlines": "\n", "CRs": "\r", "spaces": " ", "NULs": "\x00"} {
			shapes[fmt.Sprintf("%d %s after", n, name)] = shape{"gitdir: ../evil.git" + strings.Repeat(pad, n), false}
		}
		shapes[fmt.Sprintf("%d slashes", n)] = shape{"gitdir: .." + strings.Repeat("/", n) + "evil.git", false}
	}
	return shapes
}

// TestHostileGitfile: for every shape we name the same directory as git, or we
// refuse; and nothing is granted but the repository that claims the worktree.
func TestHostileGitfile(t *testing.T) {
	w := hostileWorld(t)
	shapes := gitfiles(w)
	if len(shapes) < 60 {
		t.Fatalf("only %d shapes", len(shapes))
	}
	gitTook := 0
	for name, shape := range shapes {
		w.write("wt/.git", shape.content)
		says, gitErr := w.try("wt", "rev-parse", "--absolute-git-dir")
		if gitErr == nil {
			gitTook++
		}
		if !shape.taken {
			if err := w.refused("wt"); err == nil {
				t.Errorf("%s: taken", name)
			}
			continue
		}
		r, err := Find(w.path("wt"), w.home)
		if err != nil || r == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		if gitErr != nil || r.GitDir != says {
			t.Errorf("%s: we say %q, git says %q", name, r.GitDir, says)
		}
		if !file.Within(r.GitDir, w.path("wt")) && !slices.Equal(r.Extra, []string{w.path("main/.git")}) {
			t.Errorf("%s: grants %q", name, r.Extra)
		}
	}
	// The control: many of these shapes do lead git to another directory.
	if gitTook < 30 {
		t.Errorf("git took only %d shapes; the fixtures prove nothing", gitTook)
	}
}

// TestHostileDotGit: .git as something else than a directory or a gitfile.
func TestHostileDotGit(t *testing.T) {
	for name, build := range map[string]func(w *world){
		"symlink to a gitfile":          func(w *world) { w.symlink("file", "wt/.git") },
		"symlink out to a bare one":     func(w *world) { w.symlink("../evil.git", "wt/.git") },
		"symlink out to a main one":     func(w *world) { w.symlink("../other/.git", "wt/.git") },
		"symlink over a symlink":        func(w *world) { w.symlink("evillink", "wt/.git") },
		"symlink with hop":              func(w *world) { w.symlink("hop/../evil.git", "wt/.git") },
		"dangling symlink":              func(w *world) { w.symlink("nowhere", "wt/.git") },
		"symlink to itself":             func(w *world) { w.symlink(".git", "wt/.git") },
		"symlink to home":               func(w *world) { w.symlink(w.home, "wt/.git") },
		"symlink to ssh":                func(w *world) { w.symlink(w.home+"/.ssh", "wt/.git") },
		"symlink to proc":               func(w *world) { w.symlink("/proc/self/root", "wt/.git") },
		"symlink to a nested":           func(w *world) { w.symlink("nested/.git", "wt/.git") },
		"fifo":                          func(w *world) { os.Remove(w.path("wt/.git")); w.fifo("wt/.git") },
		"commondir in a main directory": func(w *world) { w.mainWithCommondir() },
		"start in a worktree's gitdir": func(w *world) {
			w.rename("wt/.git", "old")
			w.rename("wt", "wt.old")
			w.symlink("main/.git/worktrees/wt", "wt")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hostileWorld(t)
			build(w)
			w.refused("wt")
		})
	}
}

// TestUnclaimed: the pointer is in git's own form, the target is not ours.
func TestUnclaimed(t *testing.T) {
	const gd = "main/.git/worktrees/wt"
	for name, build := range map[string]func(w *world){
		"back-pointer to another":       func(w *world) { w.write(gd+"/gitdir", w.path("owt/.git")+"\n") },
		"back-pointer to nothing":       func(w *world) { w.write(gd+"/gitdir", w.path("gone/.git")+"\n") },
		"back-pointer without .git":     func(w *world) { w.write(gd+"/gitdir", w.path("wt")+"\n") },
		"back-pointer to root":          func(w *world) { w.write(gd+"/gitdir", "/.git\n") },
		"back-pointer of two lines":     func(w *world) { w.write(gd+"/gitdir", w.path("wt/.git")+"\n"+w.path("wt/.git")+"\n") },
		"back-pointer over hop":         func(w *world) { w.write(gd+"/gitdir", w.dir+"/wt/hop/../../wt/.git"+"\n") },
		"back-pointer empty":            func(w *world) { w.write(gd+"/gitdir", "") },
		"back-pointer gone":             func(w *world) { os.Remove(w.path(gd + "/gitdir")) },
		"back-pointer is a symlink":     func(w *world) { w.write("bp", w.path("wt/.git")+"\n"); w.symlink(w.path("bp"), gd+"/gitdir") },
		"commondir to another":          func(w *world) { w.write(gd+"/commondir", w.path("other/.git")+"\n") },
		"commondir to ssh":              func(w *world) { w.write(gd+"/commondir", w.home+"/.ssh\n") },
		"commondir to itself":           func(w *world) { w.write(gd+"/commondir", ".\n") },
		"commondir of two lines":        func(w *world) { w.write(gd+"/commondir", "../..\n../..\n") },
		"commondir padded":              func(w *world) { w.write(gd+"/commondir", "../.."+strings.Repeat("\n", 9000)) },
		"commondir is a symlink":        func(w *world) { w.write("cd", "../..\n"); w.symlink(w.path("cd"), gd+"/commondir") },
		"commondir gone":                func(w *world) { os.Remove(w.path(gd + "/commondir")) },
		"HEAD gone":                     func(w *world) { os.Remove(w.path(gd + "/HEAD")) },
		"HEAD invalid":                  func(w *world) { w.write(gd+"/HEAD", "-----BEGIN OPENSSH PRIVATE KEY-----\n") },
		"HEAD of the main one gone":     func(w *world) { os.Remove(w.path("main/.git/HEAD")) },
		"main one borrows another":      func(w *world) { w.write("main/.git/commondir", w.path("other/.git")+"\n") },
		"worktree directory was copied": func(w *world) { w.copyWorktree() },
		"gitdir moved out of worktrees": func(w *world) {
			w.rename(gd, "loose")
			w.write("loose/commondir", w.path("main/.git")+"\n")
			w.write("wt/.git", "gitdir: "+w.path("loose")+"\n")
		},
		"home dressed as a git directory that claims": func(w *world) {
			w.bare("home")
			w.write("home/config", "[core]\nworktree = "+w.path("wt")+"\n")
			w.write("wt/.git", "gitdir: "+w.home+"\n")
		},
		"ssh dressed as a git directory": func(w *world) {
			w.bare("home/.ssh")
			w.write("wt/.git", "gitdir: "+w.home+"/.ssh\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hostileWorld(t)
			if r := w.find("wt"); r == nil || r.Kind != Worktree {
				t.Fatalf("control: %+v", r)
			}
			build(w)
			w.refused("wt")
		})
	}
}

func TestUnclaimedSubmodule(t *testing.T) {
	const config = "super/.git/modules/libs/sub/config"
	for name, build := range map[string]func(w *world){
		"another worktree":      func(w *world) { w.write(config, "[core]\nworktree = ../../../../other\n") },
		"no claim":              func(w *world) { w.write(config, "[core]\n") },
		"no config":             func(w *world) { os.Remove(w.path(config)) },
		"broken config":         func(w *world) { w.write(config, "[core\nworktree = ../../../../libs/sub\n") },
		"last one wins":         func(w *world) { w.write(config, "[core]\nworktree=../../../../libs/sub\nworktree=/\n") },
		"claim in a comment":    func(w *world) { w.write(config, "[core]\n#worktree = ../../../../libs/sub\n") },
		"claim in a subsection": func(w *world) { w.write(config, "[core \"x\"]\nworktree = ../../../../libs/sub\n") },
		"config is a symlink":   func(w *world) { w.rename(config, "c"); w.symlink(w.path("c"), config) },
		"worktree config without the extension": func(w *world) {
			w.write(config, "[core]\n")
			w.write(config+".worktree", "[core]\nworktree = ../../../../libs/sub\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.super()
			w.mkdir("super/other")
			if r := w.find("super/libs/sub"); r == nil || r.Kind != Submodule {
				t.Fatalf("control: %+v", r)
			}
			build(w)
			w.refused("super/libs/sub")
		})
	}
}

// TestHostileAlternates: the list may be the agent's; only object stores of
// the user's repositories are even offered.
func TestHostileAlternates(t *testing.T) {
	w := newWorld(t)
	w.repo("main")
	w.repo("other")
	w.mkdir("home/.ssh/objects")
	w.bare("home")
	w.write("main/.git/objects/info/alternates", strings.Join([]string{
		"# comment", "", w.home + "/.ssh", w.home + "/.ssh/objects", w.home + "/objects", "/", "../../../other/.git/objects",
		`"` + w.path("other/.git/objects") + `"`, "nowhere", ".", w.path("other"), strings.Repeat("x", 5000), "\x00"}, "\n"))
	got := w.find("main").Alternates
	if want := []string{w.path("other/.git/objects")}; !slices.Equal(got, want) {
		t.Errorf("offers %q, want %q", got, want)
	}
}

func (w *world) fifo(rel string) {
	w.t.Helper()
	if err := syscall.Mkfifo(w.path(rel), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// mainWithCommondir replaces wt by a plain repository that borrows another.
func (w *world) mainWithCommondir() {
	w.rename("wt", "wt.old")
	w.repo("wt")
	w.write("wt/.git/commondir", w.path("other/.git")+"\n")
}

// copyWorktree replaces wt by a copy of its pointer under another inode.
func (w *world) copyWorktree() {
	b, err := os.ReadFile(w.path("wt/.git"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.rename("wt", "wt.old")
	w.mkdir("elsewhere")
	w.write(filepath.Join("elsewhere", ".git"), string(b))
	w.symlink("elsewhere", "wt")
	w.write("main/.git/worktrees/wt/gitdir", w.path("wt.old/.git")+"\n")
}
