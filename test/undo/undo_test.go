package undo

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

var (
	plays     = flag.Int("interleavings", 24, "how many random sessions of the real binary are undone")
	firstSeed = flag.Uint64("first-seed", 1, "the seed of the first of them")
)

func TestMain(m *testing.M) { stage.Main(m) }

// actions is what agents and people do. That one fails is part of the game.
var actions = []string{
	"echo N >>a && git commit -qam N", "echo N >n && git add n && git commit -qm N", "git branch feat", "git branch -f old HEAD", "git branch -D old",
	"git checkout -q -b feat", "git checkout -q old", "git checkout -q main", "git tag -f t", "git tag -d v1", "git merge -q -m m old", "git rebase -q old",
	"git stash -q", "git stash pop -q", "git gc -q --prune=now", "git pack-refs --all", "git reset -q --hard HEAD~1", "git commit -q --amend -m N",
	"git reflog expire --expire=now --all", "rm -f b", "echo N >b", "git rm -qf b", "git mv b c", "git status", "git update-index --refresh",
	"git init -q -b main inner && cd inner && echo N >x && git add . && git commit -qm N", "cd inner && echo N >y && git add . && git commit -qm N",
}

type play struct {
	t    *testing.T
	rng  *rand.Rand
	dir  string
	said []string
}

// TestInterleavings: after undo git finds nothing broken, what the host made is as the host
// left it, and no object is gone. The users share the seeds.
func TestInterleavings(t *testing.T) {
	for n := range *plays {
		if !stage.Mine(n) {
			continue
		}
		seed := *firstSeed + uint64(n)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			home := filepath.Join(stage.Work, fmt.Sprintf("undo-%d", seed))
			p := &play{t: t, rng: rand.New(rand.NewPCG(seed, 11)), dir: filepath.Join(home, "project")}
			if err := os.MkdirAll(p.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(strings.Join(p.said, "\n"))
				}
			})
			p.play()
		})
	}
}

func (p *play) sh(line string) (string, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = p.dir
	cmd.Env = []string{"HOME=" + filepath.Dir(p.dir), "PATH=" + filepath.Dir(stage.Ringfence) + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.test", "GIT_EDITOR=true"}
	out, err := cmd.CombinedOutput()
	p.said = append(p.said, fmt.Sprintf("$ %s: %v", line, err))
	return string(out), err
}

func (p *play) some(who string, least, most int) string {
	var lines []string
	for i := range least + p.rng.IntN(most-least+1) {
		line := strings.ReplaceAll(actions[p.rng.IntN(len(actions))], "N", fmt.Sprint(who, i))
		lines = append(lines, "("+line+")")
	}
	return strings.Join(append(lines, "true"), "; ")
}

func (p *play) refs() map[string]string {
	out, _ := p.sh("git for-each-ref --format='%(refname) %(objectname)'; echo HEAD $(git symbolic-ref -q HEAD || git rev-parse HEAD)")
	all := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		name, value, _ := strings.Cut(line, " ")
		all[name] = value
	}
	return all
}

func (p *play) objects() []string {
	out, _ := p.sh("git cat-file --batch-all-objects --batch-check='%(objectname)'")
	return strings.Fields(out)
}

func (p *play) sick() string {
	out, err := p.sh("git fsck --full --no-dangling && git log --all --oneline && git reflog --all && if test -e inner; then cd inner && git fsck --full; fi")
	if err != nil || strings.Contains(out, "missing") || strings.Contains(out, "error:") || strings.Contains(out, "broken") {
		return fmt.Sprintf("%v\n%s", err, out)
	}
	return ""
}

func (p *play) play() {
	p.sh("git init -q -b main . && git config user.name a && git config user.email a@a.test && echo 1 >a && echo 1 >b && git add . && git commit -qm one && echo 2 >>a && git commit -qam two && git branch old HEAD~1 && git tag v1")
	p.sh(p.some("before", 0, 2))
	for range 1 + p.rng.IntN(2) {
		if out, err := p.sh("ringfence run --net none -- sh -c '" + strings.ReplaceAll(p.some("session", 1, 4), "'", "") + "'"); err != nil {
			p.t.Fatalf("%v\n%s", err, out)
		}
	}
	end := p.refs()
	p.sh(p.some("host", 0, 4))
	if p.sick() != "" {
		return // git itself left it so
	}
	now, had := p.refs(), p.objects()
	out, err := p.sh("ringfence undo --yes --verbose")
	p.said = append(p.said, out)
	if exit, is := err.(*exec.ExitError); err != nil && (!is || exit.ExitCode() > 2) {
		p.t.Fatalf("undo: %v\n%s", err, out)
	}
	if wrong := p.sick(); wrong != "" {
		p.t.Fatalf("after undo: %s", wrong)
	}
	p.lostNothing(end, now, had)
	if out, err := p.sh("if ringfence undo --redo --yes; then :; else test $? -le 2; fi"); err != nil || p.sick() != "" {
		p.t.Fatalf("after redo: %v\n%s\n%s", err, out, p.sick())
	}
}

func (p *play) lostNothing(end, now map[string]string, had []string) {
	then := p.refs()
	for name, value := range now {
		if end[name] != value && then[name] != value {
			p.t.Errorf("the host moved %s to %s, and now it is %q", name, value, then[name])
		}
	}
	have := map[string]bool{}
	for _, id := range p.objects() {
		have[id] = true
	}
	for _, id := range had {
		if !have[id] {
			p.t.Errorf("object %s is gone", id)
		}
	}
}
