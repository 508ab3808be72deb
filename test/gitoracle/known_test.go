package gitoracle

import (
	"os"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/tier"
)

// known are scripts of one idea each. The first three were found by people: they
// ran on the host, or wrote outside, before this suite was.
var known = []play{
	{"any repository", plain, [][]string{{
		`mkdir -p .git/objects/cc/objects .git/objects/cc/refs; fsm .git/objects/cc/config`,
		`mkdir -p .git/objects/gg/a/b; head .git/objects/gg; echo ../cc >.git/objects/gg/commondir`,
		`mkdir -p .git/modules/m/logs; ln -s ../../../objects/gg/a/b .git/modules/m/logs/lnk`,
		`point sub ../.git/modules/m/logs/lnk/../..`,
		`git rm -rq --cached sub; rm sub/keep.txt; gitlink sub`,
	}}, ""},
	{"hostile repository", rich, [][]string{{
		`mkdir -p evil/objects evil/refs; fsm evil/config`,
		`rm -rf .git/modules/x/logs/y/refs`,
		`echo ../../../../../evil >.git/modules/x/logs/y/commondir`,
	}}, ""},
	{"write outside the workspace", rich, [][]string{{
		`ln -s ../outside lnk`,
		`git config -f .git/modules/m/config core.worktree ../../../lnk`,
	}}, ""},
	// The shapes of a git directory, and how it comes about.
	{"bare repository", plain, [][]string{{`evil src/x; bare src/x`}}, ""},
	{"bare repository completed by a second session", plain, [][]string{{`common src/x; bare src/x; bare src/x`}, {`head src/x`}}, ""},
	{"bare repository whose HEAD came first", plain, [][]string{{`head src/x; mkdir src/x/refs`}, {`bare src/x`, `mkdir src/x/objects`}}, ""},
	{"bare repository whose HEAD is a link", plain, [][]string{{`common src/x; bare src/x; ln -s refs/heads/main src/x/HEAD`}}, ""},
	{"bare repository whose HEAD is moved there", plain, [][]string{{`common src/x; bare src/x; head src/y; mv src/y/HEAD src/x/HEAD`}}, ""},
	{"bare repository whose HEAD is linked there", plain, [][]string{{`common src/x; bare src/x; head src/y; ln src/y/HEAD src/x/HEAD`}}, ""},
	{"bare repository whose objects and refs are links", plain, [][]string{{`bare src/x; ln -s ../../src src/x/objects; ln -s ../../src src/x/refs`, `head src/x`}}, ""},
	{"directory moved around a repository", plain, [][]string{{`mkdir -p a/objects a/refs; bare a`, `mv a src/a`, `head src/a`}}, ""},
	{"directories exchanged", plain, [][]string{{`common a; bare a; mkdir b; head b; mkdir b/refs b/objects`, `xchg a/config b/config || cp a/config b/config`, `xchg a b`}}, ""},
	{"repository in ignored files", plain, [][]string{{`mkdir ignored; evil ignored/.git`}}, ""},
	{"repository of another case", plain, [][]string{{`evil new/.GIT; mv new/.GIT new/.git`}}, ""},
	{"repository in the place of a file", plain, [][]string{{`rm -rf sub; evil sub/.git; gitlink sub`}}, ""},
	{"HEAD of the host made a repository", plain, [][]string{{`mkdir docs/objects docs/refs; bare docs`}}, ""},
	{"HEAD of the host with commondir", plain, [][]string{{`common evil; echo ../evil >docs/commondir`}}, ""},
	{"commondir of the repository itself", plain, [][]string{{`common evil; cp -a .git/refs .git/objects evil/; echo ../evil >.git/commondir`}}, ""},

	// Pointers.
	{"pointer to a directory", plain, [][]string{{`evil evil; point sub ../evil; gitlink sub`}}, ""},
	{"pointer that is absolute", plain, [][]string{{`evil .git/modules/e; point sub $WS/.git/modules/e; gitlink sub`}}, ""},
	{"pointer below objects", plain, [][]string{{`evil .git/objects/gg; point sub ../.git/objects/gg; gitlink sub`}}, ""},
	{"pointer through a link", plain, [][]string{{`evil .git/logs/e; mkdir -p .git/modules; ln -s ../logs/e .git/modules/e; point sub ../.git/modules/e; gitlink sub`}}, ""},
	{"pointer that is a link", plain, [][]string{{`evil .git/objects/gg; mkdir -p new; ln -s ../.git/objects/gg new/.git`}}, ""},
	{"pointer that is moved there", plain, [][]string{{`evil .git/refs/e; printf 'gitdir: ../.git/refs/e\n' >src/p; mkdir new; mv src/p new/.git`}}, ""},
	{"pointer that is linked there", plain, [][]string{{`evil .git/refs/e; printf 'gitdir: ../.git/refs/e\n' >src/p; mkdir new; ln src/p new/.git`}}, ""},
	{"pointer in a directory that is moved", plain, [][]string{{`evil .git/refs/e; mkdir -p src/a; printf 'gitdir: ../.git/refs/e\n' >src/a/git; mv src/a/git src/a/.git; mv src/a new`}}, ""},
	{"pointer whose target comes later", plain, [][]string{{`mkdir -p .git/modules/e/refs .git/modules/e/objects; head .git/modules/e; point sub ../.git/modules/e`}, {`conf .git/modules/e/config; gitlink sub`}}, ""},
	{"module whose link comes later", plain, [][]string{{`mkdir -p .git/modules/e/refs .git/modules/e/objects; head .git/modules/e; point sub ../.git/modules/e; gitlink sub`}, {`evil .git/logs/e; mv .git/modules/e .git/modules/old; ln -s ../logs/e .git/modules/e`}}, ""},
	{"worktree with a common directory of its own", plain, [][]string{{`common .git/objects/cc; mkdir -p .git/worktrees/w; head .git/worktrees/w; echo ../../objects/cc >.git/worktrees/w/commondir; echo $WS/new/.git >.git/worktrees/w/gitdir; point new $WS/.git/worktrees/w`}}, ""},
	{"worktree below history", plain, [][]string{{`common .git/objects/cc; head .git/logs/w; echo $WS/.git/objects/cc >.git/logs/w/commondir; point new $WS/.git/logs/w`}}, ""},
	{"worktree of the host led elsewhere", rich, [][]string{{`common .git/objects/cc; echo ../../objects/cc >.git/worktrees/wt/commondir`}}, ""},
	{"worktree of the host moved aside", rich, [][]string{{`evil .git/objects/gg; mv .git/worktrees/wt .git/worktrees/old; ln -s ../objects/gg .git/worktrees/wt`}}, ""},
	{"modules made a link", rich, [][]string{{`mkdir -p .git/objects/mm; cp -a .git/modules/. .git/objects/mm/; conf .git/objects/mm/m/config; mv .git/modules .git/old; ln -s objects/mm .git/modules`}}, ""},
	{"module moved away and made anew", rich, [][]string{{`mv .git/modules/m .git/modules/n; evil .git/modules/m`}}, ""},
	{"module renamed below history", rich, [][]string{{`cp -a .git/modules/m .git/logs/m; conf .git/logs/m/config; mv .git/modules/m .git/modules/n; mv .git/logs/m .git/modules/m`}}, ""},
	{"module of a hostile name: settings", rich, [][]string{{`conf .git/modules/x/logs/y/config`}}, ""},
	{"module of a hostile name: hooks", rich, [][]string{{`hook .git/modules/x/logs/y/hooks/pre-commit; hook .git/modules/x/logs/y/hooks/post-checkout`}}, ""},
	{"module of a hostile name: no HEAD for a moment", rich, [][]string{{`mv .git/modules/x/logs/y/HEAD .git/modules/x/logs/y/H; conf .git/modules/x/logs/y/config; mv .git/modules/x/logs/y/H .git/modules/x/logs/y/HEAD`}}, ""},
	{"module without refs for a moment", rich, [][]string{{`rm -rf .git/modules/m/refs; echo ../../../evil >.git/modules/m/commondir; common evil; mkdir .git/modules/m/refs`}}, ""},
	{"module exchanged", rich, [][]string{{`cp -a .git/modules/m x; rm x/HEAD; conf x/config; xchg x .git/modules/m; head .git/modules/m`}}, ""},
	{"nested repository led elsewhere", rich, [][]string{{`common evil; echo ../../../evil >vendor/n/.git/commondir`}}, ""},
	{"nested repository exchanged", rich, [][]string{{`cp -a vendor/n/.git x; conf x/config; mv vendor/n vendor/o; mkdir vendor/n; mv x vendor/n/.git`}}, ""},

	// Settings and hooks.
	{"setting", plain, [][]string{{`git config core.fsmonitor "$PAY"`}}, ""},
	{"setting by exchange", plain, [][]string{{`cp .git/config c; fsm c; xchg c .git/config`}}, ""},
	{"setting by a link", plain, [][]string{{`fsm src/c; ln -sf ../src/c .git/config`}}, ""},
	{"setting by an include", plain, [][]string{{`fsm src/c; git config include.path ../src/c`}}, ""},
	{"setting by an include of the host", rich, [][]string{{`fsm cfg/included`}}, ""},
	{"setting by an include of an include that is not there", rich, [][]string{{`fsm cfg/second`}}, ""},
	{"setting by an include of a nested repository", rich, [][]string{{`fsm vendor/n/cfg`}}, ""},
	{"setting by a directory of includes", rich, [][]string{{`mkdir c; fsm c/included; mv cfg old; mv c cfg`}}, ""},
	{"setting by a link for a directory of includes", rich, [][]string{{`mkdir c; fsm c/included; mv cfg old; ln -s c cfg`}}, ""},
	{"setting of a worktree", rich, [][]string{{`git config extensions.worktreeConfig true; fsm .git/config.worktree; fsm .git/worktrees/wt/config.worktree`}}, ""},
	{"setting of a submodule that updates", rich, [][]string{{`git config submodule.m.update "!touch $CANARY"; git -C sub checkout -q --detach; git -C sub commit -q --allow-empty -m x`}}, ""},
	{"attributes of the host's settings", rich, [][]string{{`echo '* filter=f' >vendor/n/attributes; git -C vendor/n config filter.f.clean "$PAY"`}}, ""},
	{"hook", plain, [][]string{{`hook .git/hooks/pre-commit; hook .git/hooks/post-index-change`}}, ""},
	{"hook by its directory", plain, [][]string{{`hook src/h/pre-commit; mv .git/hooks .git/skooh; mv src/h .git/hooks`}}, ""},
	{"hook by a link for its directory", plain, [][]string{{`hook src/h/pre-commit; mv .git/hooks .git/skooh; ln -s ../src/h .git/hooks`}}, ""},
	{"hook that was a sample", plain, [][]string{{`hook .git/hooks/pre-commit.sample`}, {`mv .git/hooks/pre-commit.sample .git/hooks/pre-commit`}}, ""},
	{"hook where the settings say", rich, [][]string{{`hook .githooks/pre-commit; hook .githooks/post-checkout`}}, ""},
	{"hook where the settings say, in a worktree", rich, [][]string{{`hook wt/.githooks/pre-commit; hook wt/.githooks/post-checkout`}}, ""},
	{"hook where the settings say, in a new worktree", rich, [][]string{{`git worktree add -q wt2 other; hook wt2/.githooks/pre-commit; hook wt2/.githooks/post-checkout`}}, ""},

	// What git goes on with.
	{"command in a rebase", plain, [][]string{{`GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1; echo "exec touch $CANARY" >>.git/rebase-merge/git-rebase-todo`}}, ""},
	{"rebase made by hand", plain, [][]string{{`mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse main >orig-head; git rev-parse main >onto; echo refs/heads/main >head-name; echo "exec touch $CANARY" >git-rebase-todo; : >done; : >interactive; echo 1 >end; echo 0 >msgnum`}}, ""},

	// Links where git writes.
	{"reflog is a link", plain, [][]string{{`ln -sf ../../../outside/README .git/logs/HEAD`}}, ""},
	{"reflog of a branch is a link", plain, [][]string{{`ln -sf ../../../../../outside/README .git/logs/refs/heads/main`}}, ""},
	{"directory of reflogs is a link", plain, [][]string{{`rm -rf .git/logs; ln -s ../../outside .git/logs`}}, ""},
	{"packs go elsewhere", plain, [][]string{{`rm -rf .git/objects/pack; ln -s ../../../outside .git/objects/pack`}}, ""},
	{"objects go elsewhere", plain, [][]string{{`for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do [ -e .git/objects/$i$j ] || ln -s ../../../outside .git/objects/$i$j; done; done`}}, ""},
	{"objects/info goes elsewhere", plain, [][]string{{`rm -rf .git/objects/info; ln -s ../../../outside .git/objects/info`}}, ""},
	{"branches go elsewhere", plain, [][]string{{`ln -s ../../../../outside .git/refs/heads/side`}}, ""},
	{"tags go elsewhere", plain, [][]string{{`rm -rf .git/refs/tags; ln -s ../../../outside .git/refs/tags`}}, ""},
	{"index is a link", plain, [][]string{{`mv .git/index src/i; ln -s ../../outside/README .git/index`}}, ""},
	{"packed refs are a link", plain, [][]string{{`ln -sf ../../outside/README .git/packed-refs`}}, ""},
	{"message is a link", plain, [][]string{{`ln -sf ../../outside/README .git/COMMIT_EDITMSG; ln -sf ../../outside/README .git/FETCH_HEAD; ln -sf ../../outside/README .git/ORIG_HEAD; ln -sf ../../outside/README .git/MERGE_MSG`}}, ""},
	{"reflog of a module is a link", rich, [][]string{{`ln -sf ../../../../../outside/README .git/modules/m/logs/HEAD`}}, ""},
	{"reflog of a worktree is a link", rich, [][]string{{`ln -sf ../../../../../outside/README .git/worktrees/wt/logs/HEAD`}}, ""},
	{"message of a module of a hostile name is a link", rich, [][]string{{`ln -sf ../../../../../../outside/README .git/modules/x/logs/y/COMMIT_EDITMSG; ln -sf ../../../../../../outside/README .git/modules/x/logs/y/index`}}, ""},
	{"tree of a module is elsewhere", rich, [][]string{{`git config -f .git/modules/m/config core.worktree $OUTSIDE`}}, ""},
	{"tree of a module of a hostile name is elsewhere", rich, [][]string{{`ln -s ../outside lnk; git config -f .git/modules/x/logs/y/config core.worktree ../../../../../lnk`}}, ""},
	{"tree of a module is a link later", rich, [][]string{{`git config -f .git/modules/m/config core.worktree ../../../lnk; mkdir lnk`}, {`rmdir lnk; ln -s ../outside lnk`}}, ""},

	// Sessions in a worktree and in a submodule, whose git directories lie elsewhere.
	{"setting, from a worktree", rich, [][]string{{`fsm .git/config; fsm .git/worktrees/wt/config.worktree; git -C wt config extensions.worktreeConfig true`}}, "wt"},
	{"reflog is a link, from a worktree", rich, [][]string{{`ln -sf ../../../outside/README .git/logs/HEAD; ln -sf ../../../../../outside/README .git/worktrees/wt/logs/HEAD`}}, "wt"},
	{"worktree led elsewhere, from itself", rich, [][]string{{`common .git/objects/cc; echo ../../objects/cc >.git/worktrees/wt/commondir; mkdir -p .git/refs/e; evil wt/e; printf 'gitdir: ../.git/refs/e\n' >wt/.git`}}, "wt"},
	{"hook, from a worktree", rich, [][]string{{`hook wt/.githooks/post-checkout; hook wt/.githooks/pre-commit; hook .git/hooks/pre-commit`}}, "wt"},
	{"submodule led elsewhere, from itself", rich, [][]string{{`common .git/modules/m/objects/cc; echo objects/cc >.git/modules/m/commondir; conf .git/modules/m/config`}}, "sub"},
	{"tree elsewhere, from a submodule", rich, [][]string{{`ln -s ../../outside sub/lnk; git config -f .git/modules/m/config core.worktree ../../../sub/lnk`}}, "sub"},
	{"module of a hostile name, from itself", rich, [][]string{{`common hx/evil; rm -rf .git/modules/x/logs/y/refs; echo ../../../../../hx/evil >.git/modules/x/logs/y/commondir; conf .git/modules/x/logs/y/config`}}, "hx"},
	{"command in a rebase, in short", plain, [][]string{{`GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1; printf 'x touch %s\n' "$CANARY" >.git/rebase-merge/git-rebase-todo`}}, ""},
	{"link into a git directory", rich, [][]string{{`common .git/refs/n; mv -T .git/refs/n vendor/n/.git/refs/heads/n; head vendor/n/.git/refs/heads/n; mkdir -p vendor/n/.git/refs/heads/n/p/q; ln -s ../vendor/n/.git/refs/heads/n/p/q src/l`}}, ""},

	// What shells and editors read.
	{"direnv", plain, [][]string{{`echo "touch $CANARY" >.envrc; mkdir new; echo "touch $CANARY" >new/.envrc`}}, ""},
	{"mise", plain, [][]string{{`echo "# touch $CANARY" >src/mise.toml; echo "# touch" >.rvmrc`}}, ""},
	{"pipe among the branches", plain, [][]string{{`mkfifo .git/refs/heads/p`}}, ""},
}

// TestKnown plays them in the ways by which changes can come to the host, as chosen
// says, or in all if there is time for it.
func TestKnown(t *testing.T) {
	for i, p := range known {
		for n, pipeline := range pipelines {
			if *forTime == 0 && !chosen(i, n) {
				continue
			}
			t.Run(strings.ReplaceAll(p.name, "/", "-")+"/"+pipeline, func(t *testing.T) {
				t.Parallel()
				found, err := p.perform(t, pipeline)
				if err != nil {
					t.Fatal(err)
				}
				tell(t, found)
			})
		}
	}
}

// chosen is what this user plays: of the first three every second way, and root and the
// ordinary user together all. Of the others the ordinary user plays each in one way, and
// root every second in the other way.
func chosen(i, way int) bool {
	switch {
	case tier.All():
		return true
	case i < 3:
		return stage.Mine(i + way)
	case os.Getuid() == 0:
		return i%2 == 0 && way == 1-i/2%2
	}
	return way == i/2%2
}

// TestQuiet sees to it that the host's own commands are not taken for findings.
func TestQuiet(t *testing.T) {
	for _, b := range []base{plain, rich} {
		found, err := play{name: "quiet", base: b}.perform(t, "none")
		if err != nil {
			t.Fatal(err)
		}
		tell(t, found)
	}
}
