package work

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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

// Days plays them, each as a session of its own that is reviewed and applied. The last one is
// undone and done again by the person.
func Days(t *testing.T, begin func(*testing.T) *Fixture) {
	f := begin(t)
	host := func(script string) (string, error) {
		cmd := exec.Command("sh", "-c", script)
		cmd.Dir, cmd.Env = f.Dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.State, "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := host("git init -q && git config user.name me && git config user.email me@lab.test && git add -A && git commit -qm begin"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, d := range days {
		r := f.On(d.script, "--review", "--net", "none")
		if r.Status != 0 {
			t.Fatalf("%s: status %d\n%s%s", d.name, r.Status, r.Stdout, r.Stderr)
		}
		if out, err := host(d.host); err == nil {
			t.Errorf("%s: it is on the host before it was applied\n%s", d.name, out)
		}
		if out, err := f.Cmd("apply", "--yes").CombinedOutput(); err != nil {
			t.Fatalf("%s: apply: %v\n%s", d.name, err, out)
		}
		if out, err := host(d.host); err != nil {
			t.Errorf("%s: %v\n%s", d.name, err, out)
		}
	}
	for _, step := range []struct {
		args []string
		gone bool
	}{{[]string{"undo", "--yes"}, true}, {[]string{"undo", "--redo", "--yes"}, false}} {
		out, err := f.Cmd(step.args...).CombinedOutput()
		if _, serr := os.Stat(filepath.Join(f.Dir, "got")); err != nil || os.IsNotExist(serr) != step.gone {
			t.Errorf("%s: %v, %v\n%s", strings.Join(step.args, " "), err, serr, out)
		}
	}
}
