package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/git/safe"
)

// project is a repository with a commit, an edit, a new file, things that are passed over,
// and a program that git would run if its settings counted.
func project(t *testing.T) (dir, home string) {
	t.Helper()
	home = t.TempDir()
	dir = filepath.Join(home, "app")
	sh := func(script string) {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x.test"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	sh(`git init -q .
mkdir -p src docs old vendor/lib
echo one >src/a.go; echo one >docs/d.md; echo one >old/o.go
printf 'build/\n.env\n*.o\n' >.gitignore
git add . && git commit -qm one
echo two >src/a.go; echo new >src/new.go; echo new >loose.txt
mkdir build && echo x >build/x && echo K=1 >.env && echo o >a.o
cd vendor/lib && git init -q . && echo one >l.go && git add . && git commit -qm one && echo two >l.go && cd ../..
echo '* filter=evil' >.git/info/attributes
git config filter.evil.clean "touch $HOME/ran; cat"
git config core.fsmonitor "touch $HOME/ran"`)
	return dir, home
}

func TestWork(t *testing.T) {
	dir, home := project(t)
	where := Where{Home: home, Dir: dir, Work: Worktrees(home, hostGit(t)), Belt: Belt{Total: 1 << 20, File: 1 << 16}}
	for line, want := range map[string]string{
		"rm -rf src":                 `"src/a.go", "src/new.go"`,
		"rm -r ./src/":               `"src/a.go", "src/new.go"`,
		"rm -rf src/*":               `"src/a.go", "src/new.go"`,
		"rm -rf " + dir + "/src old": `"src/a.go"`,
		"cd src && rm -rf *":         `"src/a.go"`,
		"rm -rf vendor/lib":          `"l.go"`,
		"git reset --hard":           `"src/a.go"`,
		"git checkout .":             `"src/a.go"`,
		"cd src; git checkout .":     `"src/a.go"`,
		"git -C src restore .":       `"src/a.go"`,
		"git checkout -f HEAD":       `"src/a.go"`,
		"git clean -fd":              `"loose.txt", "src/new.go", "vendor/"`,
		"git clean -f":               `"loose.txt", "src/new.go"`,
		"git clean -fdX":             `".env"`,
		"git rm -rf src":             `"src/a.go"`,
		"git checkout -- src":        `"src/a.go"`,
		"git restore src":            `"src/a.go"`,
		"git checkout HEAD src":      `"src/a.go"`,
		"git restore .":              `has: "src/a.go". `,
		"git checkout-index -af":     `"src/a.go"`,
		"git checkout src/a.go":      "",
		"rm -rf old docs build":      "",
		"git checkout old/":          "",
		"git restore docs/ old/":     "",
		"git clean -fX build":        "",
		"git clean -fd docs":         "",
		"rm -rf nowhere":             "",
		"rm -rf /tmp/x/y":            "",
	} {
		v := Judge(line, where)
		if want == "" {
			if v != (Verdict{}) {
				t.Errorf("%q: %v", line, v)
			}
			continue
		}
		if v.Decision != Ask || v.Rule != "work" || !strings.Contains(v.Reason, want) || !strings.Contains(v.Reason, "`ringfence undo` brings it back") {
			t.Errorf("%q: %v, want %s", line, v, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(home, "ran")); err == nil {
		t.Error("a program that the repository names was run")
	}
}

// TestWorkWithNobody: what cannot be brought back is refused, what can passes.
func TestWorkWithNobody(t *testing.T) {
	dir, home := project(t)
	for name, c := range map[string]struct {
		belt Belt
		want Decision
		says string
	}{
		"somebody, nothing kept": {Belt{}, Ask, "Nothing brings it back"},
		"nobody, nothing kept":   {Belt{Nobody: true}, Deny, "nobody is here"},
		"nobody, undo":           {Belt{Nobody: true, Total: 1 << 20, File: 1 << 10}, Pass, ""},
		"nobody, too large":      {Belt{Nobody: true, Total: 1 << 20, File: 1}, Deny, "nobody is here"},
		"nobody, too much":       {Belt{Nobody: true, Total: 2, File: 4}, Deny, "nobody is here"},
		"nobody, a copy":         {Belt{Nobody: true, Copy: true}, Pass, ""},
		"somebody, a copy":       {Belt{Copy: true}, Ask, "works in a copy"},
	} {
		v := Judge("git reset --hard", Where{Home: home, Dir: dir, Work: Worktrees(home, hostGit(t)), Belt: c.belt})
		if v.Decision != c.want || !strings.Contains(v.Reason, c.says) {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestBeltIsReadAsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belt")
	for _, b := range []Belt{{}, {true, false, 1 << 30, 1 << 20}, {false, true, 0, 7}} {
		if err := os.WriteFile(path, b.Text(), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ReadBelt(path); got != b {
			t.Errorf("%+v became %+v", b, got)
		}
	}
	if err := os.WriteFile(path, []byte("nobody=false copy=true total=x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ReadBelt(path); got != (Belt{}) {
		t.Errorf("%+v", got)
	}
}

// TestWorkIsBounded: a repository that cannot be looked at in time holds nothing up for good,
// and what is denied by its words does not wait for it.
func TestWorkIsBounded(t *testing.T) {
	asked := 0
	where := Where{Home: "/home/ann", Dir: "/home/ann/app", Work: func(string, []string, bool) ([]Unsaved, error) {
		asked++
		return nil, os.ErrDeadlineExceeded
	}}
	if v := Judge("rm -rf a; rm -rf b; sudo ls", where); v.Decision != Deny || asked != 0 {
		t.Errorf("%v after %d looks", v, asked)
	}
	if v := Judge("git reset --hard", where); v.Decision != Ask || asked != 1 {
		t.Errorf("%v after %d looks", v, asked)
	}
}

func hostGit(t *testing.T) func(string) safe.Git {
	t.Helper()
	at, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	return func(string) safe.Git { return safe.Git(at) }
}
