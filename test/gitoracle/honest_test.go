package gitoracle

import (
	"regexp"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// healthy is what must succeed on the host after every session.
const healthy = `git fsck && git log --all && git status && git gc`

// work is what people let agents do with git. It either works on the host at once,
// or waits as a whole and says so.
type work struct {
	name   string
	base   base
	inside string
	works  string // on the host
}

var honest = []work{
	{"commit", plain, `echo x >>README; git commit -qam work`, `git log -1 --format=%s | grep -x work`},
	{"branch", plain, `git checkout -q -b new; git branch -u origin/main; git commit -q --allow-empty -m b`, `git status -sb | grep 'new...origin/main'`},
	{"remote", plain, `git remote add o https://forge.test/x.git`, `git remote get-url o`},
	{"worktree", plain, `git worktree add -q ./wt topic`, `git -C wt status && git -C wt log -1 && git worktree list | grep /wt`},
	{"worktree with a branch", plain, `git worktree add -q -b feat wt; git -C wt commit -q --allow-empty -m w`, `git -C wt status && git log -1 --format=%s feat | grep -x w`},
	{"worktree removed", rich, `git worktree remove wt`, `! git worktree list | grep /wt`},
	{"worktree of the host", rich, `echo x >>wt/README; git -C wt commit -qam wt`, `git -C wt log -1 --format=%s | grep -x wt`},
	{"submodule", plain, `git -c protocol.file.allow=always submodule -q add "$WS" lib; git commit -qm lib`, `git submodule status | grep lib && git -C lib log -1 && git -C lib status`},
	{"submodule of the host", rich, `echo x >>sub/lib.txt; git -C sub commit -qam s; git commit -qam bump`, `git -C sub log -1 --format=%s | grep -x s && git submodule status`},
	{"submodule updated", rich, `git submodule -q update --init; git -C sub checkout -q -b y; git -C sub commit -q --allow-empty -m y`, `git -C sub log -1 --format=%s | grep -x y`},
	{"clone", plain, `git clone -q . vendor/c`, `git -C vendor/c log -1 && git -C vendor/c fsck`},
	{"init", plain, `git init -q vendor/i; echo x >vendor/i/x; git -C vendor/i add -A; git -C vendor/i commit -qm i`, `git -C vendor/i log -1 && git -C vendor/i fsck`},
	{"bare clone", plain, `git clone -q --bare . vendor/b.git`, `git -C vendor/b.git log -1 main`},
	{"rebase in progress", plain, `! git rebase other`, `git status | grep 'rebase in progress' && git rebase --abort && git log -1 --format=%s main | grep -x second`},
	{"interactive rebase in progress", plain, `GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -i HEAD~1`, `git rebase --continue && git log -1 --format=%s main | grep -x second`},
	{"merge in progress", plain, `! git merge -q other`, `git status | grep 'unmerged paths' && git merge --abort`},
	{"merge resolved", plain, `! git merge -q other; git checkout -q --ours src/a.txt; git add -A`, `git commit -qm merged && git log -1 --format=%P | grep ' '`},
	{"cherry-pick in progress", plain, `! git cherry-pick other`, `git cherry-pick --abort`},
	{"revert", plain, `git revert --no-edit HEAD`, `git log -1 --format=%s | grep Revert`},
	{"stash", plain, `echo x >>README; git stash -q; echo y >>src/b.txt; git stash -q`, `test $(git stash list | wc -l) = 2 && git stash pop && git stash drop`},
	{"notes", plain, `git notes add -m hello topic`, `git notes show topic | grep -x hello`},
	{"tags", plain, `git tag light; git tag -a -m x heavy`, `git cat-file -t heavy | grep -x tag`},
	{"bisect", plain, `git bisect start main main~1`, `git bisect log && git bisect reset`},
	{"am", plain, `git format-patch -q -1 other --stdout >p; ! git am p`, `git am --abort`},
	{"am done", plain, `git format-patch -q -1 topic --stdout >p; git am -q p`, `git log -1 --format=%s | grep -x topic`},
	{"gc", rich, `git gc -q; git -C sub gc -q`, `git -C sub fsck`},
	{"packed refs", plain, `git pack-refs --all; git branch -D other`, `! git rev-parse -q --verify other`},
	{"amend and reflog", plain, `git commit -q --amend -m again; git reset -q --hard HEAD@{1}`, `git reflog | grep reset`},
	{"sparse checkout", plain, `git sparse-checkout set src`, `test -e src/a.txt`},
	{"rename of a branch", plain, `git branch -m topic thema`, `git rev-parse -q --verify thema && ! git rev-parse -q --verify topic`},
	{"detached", plain, `git checkout -q --detach other; git commit -q --allow-empty -m d`, `git log -1 --format=%s | grep -x d`},
	{"alternates", plain, `git clone -q --shared . vendor/s`, `git -C vendor/s log -1`},
}

// waits is how the end of a session tells that something waits.
var waits = regexp.MustCompile(`(?m)^.*\bwaits?\b.*$`)

func TestHonest(t *testing.T) {
	for i, w := range honest {
		for n, view := range []string{"live", "review"} {
			if !stage.Mine(i + n) {
				continue // the other user's
			}
			t.Run(w.name+"/"+view, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, w.base)
				defer s.close()
				w.perform(t, s, view)
			})
		}
	}
}

func (w work) perform(t *testing.T, s *scene, view string) {
	out, err := s.session(view, []string{"set -e; rm pay", w.inside})
	if err != nil {
		t.Fatal(err)
	}
	on := func(what, script string) (string, error) {
		// grep reads to the end: one that stops early ends git by a signal.
		said, err := s.host(s.ws(), "set -o pipefail; "+script)
		return what + ": " + said, err
	}
	// On a copy: what waits must find the repository as the session left it.
	if said, err := on("after the session", `cp -a . "$TMPDIR/copy" && cd "$TMPDIR/copy" && `+healthy); err != nil {
		t.Errorf("%s%v", said, err)
	}
	if view == "live" {
		said, err := on("at once", w.works)
		if err == nil {
			return
		}
		if !waits.MatchString(out) {
			t.Errorf("it does not work on the host and no word of that:\n%s%s", said, out)
		}
	}
	if said, err := s.command(s.ws(), nil, stage.Ringfence, "apply", "--yes"); err != nil {
		t.Errorf("apply: %v\n%s", err, said)
	}
	for _, check := range []string{w.works, healthy} {
		if said, err := on("after apply", check); err != nil {
			t.Errorf("%s%v", said, err)
		}
	}
}
