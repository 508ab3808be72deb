package work

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// day is work that an agent does for a person: what it types inside, and what the host
// has when the person has applied it.
type day struct {
	name   string
	script string
	host   string // a shell script on the host that must end with 0
}

// days are the same on every rung, with the same policy. Each begins where the last ended.
var days = []day{
	{"a new program", `mkdir -p src; printf 'def add(a, b):\n    return a + b\n' > src/sums.py; printf 'all:\n\tpython3 -m compileall -q src\n' > Makefile; make`, `test -s src/sums.py && make -n | grep -q compileall`},
	{"a test that fails first", `printf 'import sys; sys.path.insert(0, "src"); import sums; assert sums.add(2, 2) == 5\n' > check.py; ! python3 check.py 2>/dev/null`, `grep -q '== 5' check.py`},
	{"a test that passes", `sed -i 's/== 5/== 4/' check.py; python3 check.py`, `python3 check.py`},
	{"a commit", `git add -A && git commit -qm 'work: add sums'`, `test "$(git log --format=%s -1)" = 'work: add sums' && git diff --quiet && git fsck --strict`},
	{"a branch with two commits", `git switch -qc feature; echo one > one; git add one; git commit -qm one; echo two > two; git add two; git commit -qm two`, `test "$(git rev-list --count feature)" -ge 3`},
	{"a merge", `git switch -q -; git merge -q --no-ff -m 'merge feature' feature`, `git log --merges --format=%s -1 | grep -qx 'merge feature' && test -e two`},
	{"a file moved and one deleted", `git mv one first; git rm -q two; git commit -qm 'move and remove'`, `test -e first && ! test -e one && ! test -e two`},
	{"many files", `mkdir many; for i in $(seq 300); do echo $i > many/$i; done; ln -s 7 many/link; chmod 755 many/8`, `test $(ls many | wc -l) = 301 && test "$(readlink many/link)" = 7 && test -x many/8`},
	{"a search and a mass edit", `grep -rl '^7$' many | sort > found; sed -i 's/$/!/' many/*; test "$(cat many/9)" = '9!'`, `grep -qx many/7 found && test "$(cat many/300)" = '300!'`},
	{"a program that serves", `python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & until curl -fsS http://127.0.0.1:8123/first > got 2>/dev/null; do sleep 0.05; done; kill $!`, `grep -qx one got`},
}

// Days plays them, each as a session of its own that is reviewed and applied. Then the agent
// pushes, asks an MCP server, gets help from beside and takes up where it left off. The last
// change is undone and done again by the person.
func Days(t *testing.T, begin func(*testing.T) *Fixture) {
	f := begin(t)
	remote := f.furnish()
	for _, d := range days {
		f.does(d.name, d.script, "--net", "none")
		if out, err := f.host(d.host); err == nil {
			t.Errorf("%s: it is on the host before it was applied\n%s", d.name, out)
		}
		f.person("apply", "--yes")
		if out, err := f.host(d.host); err != nil {
			t.Errorf("%s: %v\n%s", d.name, err, out)
		}
	}
	f.pushes(remote)
	f.asks()
	f.isHelped()
	f.takesUp()
	f.changesMind("helped")
}

// pushes: a branch goes out by a token that is not there, the main branch does not.
func (f *Fixture) pushes(remote string) {
	t := f.T
	f.does("a push", `git switch -qc topic; git commit -q --allow-empty -m pushed; git push -q origin topic
		! env | grep -q `+world.Token+`; ! grep -rqs `+world.Token+` $HOME .git`)
	if out, err := f.host("git -C " + remote + " log -1 --format=%s topic"); err != nil || out != "pushed\n" {
		t.Errorf("the remote has %q, %v", out, err)
	}
	f.person("apply", "--yes")
	f.does("a push to the main branch", "! git push -q origin HEAD:main")
	if out, err := f.host("git -C " + remote + " log -1 --format=%s main"); err != nil || out != "begin\n" {
		t.Errorf("the main branch of the remote has %q, %v", out, err)
	}
	if out, err := f.host("GIT_TERMINAL_PROMPT=0 git -c http.sslCAInfo=ca.pem ls-remote origin"); err == nil {
		t.Errorf("the control: the remote opens without a token\n%s", out)
	}
}

// asks: an MCP server of the host answers, and what it reads is not there for the agent.
func (f *Fixture) asks() {
	f.does("a note", askNotes+` | /.ringfence/bin/ringfence-mcp notes > answer; grep -q 'remember the milk' answer; ! grep -rqs 'remember the milk' "$(dirname $HOME)"/notes-*`, "--mcp", "notes")
	f.person("apply", "--yes")
	f.must(`grep -q 'remember the milk' answer`)
}

// isHelped: a command beside the agent changes what the agent changes.
func (f *Fixture) isHelped() {
	id := f.Start("until test -e helped; do sleep 0.05; done; echo seen; exec sleep 1000", "--review", "--net", "none")
	f.person("exec", id, "--", "sh", "-c", "echo helped > helped")
	f.Said(id, "seen")
	f.person("stop", id)
	if _, err := os.Stat(filepath.Join(f.Dir, "helped")); err == nil {
		f.T.Error("what was done beside the agent is on the host before it was applied")
	}
	f.person("apply", "--yes")
	f.must("grep -qx helped helped")
}

// takesUp: what an agent keeps of a conversation is there the next time, and nowhere else.
func (f *Fixture) takesUp() {
	f.standIn("#!/bin/sh\nexec sh -ec \"$1\"\n")
	for _, script := range []string{"echo said > $HOME/.claude/conversation", "grep -qx said $HOME/.claude/conversation"} {
		f.person("claude", "--rung", f.Rung, "--review", "--net", "none", "--", script)
	}
	if _, err := os.Stat(filepath.Join(stage.Home, ".claude/conversation")); err == nil {
		f.T.Error("it is in the person's own home")
	}
}

// changesMind: the person takes back what was applied last, and has it again.
func (f *Fixture) changesMind(name string) {
	for _, step := range []struct {
		args []string
		gone bool
	}{{[]string{"undo", "--yes"}, true}, {[]string{"undo", "--redo", "--yes"}, false}} {
		f.person(step.args...)
		if _, err := os.Stat(filepath.Join(f.Dir, name)); os.IsNotExist(err) != step.gone {
			f.T.Errorf("%s: %v", strings.Join(step.args, " "), err)
		}
	}
}
