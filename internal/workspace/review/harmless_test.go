package review

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const project = `git init -q .; echo a >a; git add a; git commit -qm a; git remote add origin https://forge.test/x.git`

func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name, script string
		there, waits []string
	}{
		{name: "branch -u", script: `git update-ref refs/remotes/origin/main HEAD; git branch -q -u origin/main; git config user.name x`, there: nil},
		{name: "alias", script: `git config alias.x '!sh'`, waits: []string{".git/config"}},
		{name: "hook", script: `echo x >.git/hooks/pre-commit; git config branch.x.description y`, waits: []string{".git/hooks/pre-commit"}},
		{name: "new repository", script: `mkdir sub; cd sub; git init -q; echo 1 >f; git add f; git commit -qm f`, there: []string{"sub/.git/config", "sub/.git/hooks/pre-commit.sample"}, waits: []string{"sub/f"}},
		{name: "new repository with a hook", script: `git init -q sub; echo x >sub/.git/hooks/post-checkout`, waits: []string{"sub/.git/config", "sub/.git/HEAD"}},
		{name: "new repository with attributes", script: `git init -q sub; echo '* filter=x' >sub/.git/info/attributes`, waits: []string{"sub/.git/config"}},
		{name: "new repository with an alternate", script: `git init -q sub; echo /x >sub/.git/objects/info/alternates`, waits: []string{"sub/.git/config"}},
		{name: "new repository with a link", script: `git init -q sub; ln -s ../../a sub/.git/objects/link`, waits: []string{"sub/.git/config"}},
		{name: "new repository with a worktree config", script: `git init -q sub; cd sub; git config extensions.worktreeConfig true; git config --worktree core.pager x`, waits: []string{"sub/.git/config"}},
		{name: "new repository with an unknown file", script: `git init -q sub; touch sub/.git/whatever`, waits: []string{"sub/.git/config"}},
		{name: "two repositories", script: `git init -q good; git init -q bad; git -C bad config core.fsmonitor ./x`, there: []string{"good/.git/config"}, waits: []string{"bad/.git/config"}},
		{name: "worktree", script: `git worktree add -q wt`, there: []string{"wt/.git", ".git/worktrees/wt/gitdir", ".git/worktrees/wt/commondir"}},
		{name: "worktree with a config", script: `git worktree add -q wt; printf '[core]\n\tpager = x\n' >.git/worktrees/wt/config.worktree`, waits: []string{"wt/.git", ".git/worktrees/wt/gitdir"}},
		{name: "gitfile elsewhere", script: `mkdir s; echo 'gitdir: /tmp/x' >s/.git`, waits: []string{"s/.git"}},
		{name: "editor", script: `mkdir .vscode; echo '{}' >.vscode/settings.json`, waits: []string{".vscode/settings.json"}},
		{name: "not git's case", script: `mkdir s; mkdir s/.GIT; echo x >s/.GIT/index`, waits: []string{"s/.GIT/index"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newWorld(t, Live, project)
			h.held(c.script)
			_, err := h.Settle(h.store)
			must(t, err)
			waits := map[string]bool{}
			for _, e := range h.review().Waiting() {
				waits[e.Path] = true
			}
			for _, p := range c.there {
				if !h.exists(p) || waits[p] {
					t.Errorf("%s is not on the host", p)
				}
			}
			for _, p := range c.waits {
				if !waits[p] {
					t.Errorf("%s does not wait", p)
				}
			}
			if len(c.waits) == 0 && c.there == nil && len(waits) > 0 {
				t.Errorf("still waits: %v", waits)
			}
			h.sh(`git status --short`)
		})
	}
}

// TestSettledCanBeUndone: what was applied at the end of a session goes like the
// rest of what the session did.
func TestSettledCanBeUndone(t *testing.T) {
	h := newWorld(t, Live, project)
	before := h.read(".git/config")
	h.held(`git config user.name agent; git init -q sub`)
	_, err := h.Settle(h.store)
	must(t, err)
	if h.read(".git/config") == before || !h.exists("sub/.git/config") {
		t.Fatal("nothing was applied")
	}
	h.end()
	out, err := h.UndoAll(nil, false)
	must(t, err)
	if h.read(".git/config") != before || h.exists("sub") {
		t.Error("not undone: ", results(out))
	}
}

// TestWorktreeOfTwoTrees: in a session in a linked worktree the git directory is
// another tree, and a further worktree has a file in both.
func TestWorktreeOfTwoTrees(t *testing.T) {
	h := newWorld(t, Live, project+`; git worktree add -q ../linked; mkdir ../linked/inner ../linked/evil .git/worktrees/inner`)
	linked := filepath.Dir(h.root) + "/linked"
	h.Trees[0].Path, h.Trees[0].Prefix = h.root+"/.git", ".git"
	h.Add(Tree{Path: linked, View: Live})
	for rel, text := range map[string]string{
		h.Upper(0) + "/worktrees/inner/HEAD":      "ref: refs/heads/main\n",
		h.Upper(0) + "/worktrees/inner/commondir": "../..\n",
		h.Upper(0) + "/worktrees/inner/gitdir":    linked + "/inner/.git\n",
		h.Upper(1) + "/inner/.git":                "gitdir: " + h.root + "/.git/worktrees/inner\n",
		h.Upper(1) + "/evil/.git":                 "gitdir: /elsewhere/.git/worktrees/inner\n",
	} {
		must(t, os.MkdirAll(filepath.Dir(rel), 0o755))
		must(t, os.WriteFile(rel, []byte(text), 0o644))
	}
	out, err := h.Settle(nil)
	must(t, err)
	if diff := cmp.Diff("applied worktrees/inner/HEAD\napplied worktrees/inner/commondir\napplied worktrees/inner/gitdir\napplied inner/.git\n", results(out)); diff != "" {
		t.Error(diff)
	}
}

// TestModesOfDirectoriesAreTheHosts: a directory above something held is in the
// layer only because of that.
func TestModesOfDirectoriesAreTheHosts(t *testing.T) {
	h := newWorld(t, Live, `mkdir d`)
	h.held(`echo x >d/.envrc`)
	h.sh(`chmod 700 d`)
	if got := lines(h.review()); got != "unasked added waits d/.envrc\n" {
		t.Error(got)
	}
	_, err := h.Settle(h.store)
	must(t, err)
	must(t, h.store.Close())
	must(t, h.Work.Layer(0).Discard([]string{"d/.envrc"}))
	if waits, err := h.Waits(); err != nil || waits {
		t.Errorf("the mode waits: %v", err)
	}
	must(t, h.End(time.Now(), true))
}

// TestSettleAllOrNone: where the host has changed a part of a group meanwhile, nothing of
// the group is brought over.
func TestSettleAllOrNone(t *testing.T) {
	h := newWorld(t, Live, project+`; git worktree add -q first`)
	h.held(`git worktree add -q wt; git config user.name agent`)
	h.sh(`git worktree remove first`) // with it goes .git/worktrees
	_, err := h.Settle(h.store)
	must(t, err)
	if h.exists("wt/.git") || h.exists(".git/worktrees/wt") {
		t.Error("a part of a worktree was applied")
	}
	waits := map[string]bool{}
	for _, e := range h.review().Waiting() {
		waits[e.Path] = true
	}
	if !waits["wt/.git"] || waits[".git/config"] {
		t.Errorf("waits: %v", waits)
	}
}
