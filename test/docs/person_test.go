package docs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// answer is what the model says to everything.
const answer = "all is done"

// person is somebody who reads a page and types what it says.
type person struct {
	top, home, project string
	env                []string
}

// newPerson is somebody with a HOME of his own, whose model has nothing to do.
func newPerson(t *testing.T) *person {
	t.Helper()
	top, err := os.MkdirTemp(stage.Work, "docs-")
	if err != nil {
		t.Fatal(err)
	}
	return personIn(t, top, filepath.Join(top, "home"), model.Turn{Text: answer})
}

// personIn makes a HOME, a project and a model, and sees to it that nothing is left.
func personIn(t *testing.T, top, home string, turns ...model.Turn) *person {
	t.Helper()
	p := &person{top: top, home: home, project: filepath.Join(home, "project")}
	for path, text := range map[string]string{
		"project/README.md": "# A small project\n", "project/Makefile": "test:\n\t@echo all tests pass\n",
		"project/main.py": "print('hello')\n", "datasets/rows.csv": "a,b\n1,2\n",
	} {
		p.put(t, path, text)
	}
	m := httptest.NewServer(model.New("", turns...))
	p.env = []string{"HOME=" + p.home, "USER=you", "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/bash", "TMPDIR=/tmp",
		"PATH=" + strings.Join([]string{filepath.Join(p.home, ".local/bin"), filepath.Dir(stage.Ringfence), findAgents(t) + "/.bin",
			"/usr/local/go/bin", "/usr/local/bin", "/usr/bin", "/bin"}, ":"),
		"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=rf-docs-key", "OPENAI_BASE_URL=" + m.URL + "/v1", "OPENAI_API_KEY=rf-docs-key",
		"GOOGLE_GEMINI_BASE_URL=" + m.URL, "GEMINI_API_KEY=rf-docs-key", "OPENCODE_DISABLE_MODELS_FETCH=1", "WORK_TOKEN=rf-docs-work-token"}
	t.Cleanup(func() {
		p.run(t, typed{text: "ringfence stop --all --time 0s"})
		m.CloseClientConnections()
		m.Close()
		nothingRuns(t)
		nothingChanged(t)
		exec.Command("chmod", "-R", "u+w", top, home).Run() // some caches are read-only
		if err := errors.Join(os.RemoveAll(home), os.RemoveAll(top)); err != nil {
			t.Error(err)
		}
	})
	for _, line := range []string{"git init --quiet --initial-branch=main",
		"git config user.name you; git config user.email you@example.org", "git add . && git commit --quiet --message=begin"} {
		p.must(t, line)
	}
	return p
}

func (p *person) put(t *testing.T, path, text string) {
	t.Helper()
	path = filepath.Join(p.home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// clone gives the person a copy of the tree, and what the compiler has done already.
func (p *person) clone(t *testing.T, tree string) {
	t.Helper()
	if err := copyTree(kitTree, tree); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(kitCache, filepath.Join(p.home, ".cache/go-build")); err != nil {
		t.Fatal(err)
	}
}

// findAgents returns the node_modules that scripts/tools installed.
func findAgents(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(kitTree, "test/agents/npm/package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	places := []string{"/var/cache"}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && os.Getuid() != 0 {
		places = append(places, filepath.Join(u.HomeDir, ".cache"))
	}
	for _, place := range places {
		dir := filepath.Join(place, fmt.Sprintf("ringfence-test/agents-%x/node_modules", sum[:6]))
		if exists(dir) {
			return dir
		}
	}
	t.Fatalf("there are no agents in %q: run `make tools`", places)
	return ""
}

// typing runs one line in the directory and with the variables that the last one left.
const typing = `cd "$(cat "$2/cwd" 2>/dev/null || echo "$3")" || exit 99
[ ! -e "$2/env" ] || . "$2/env"
eval "$1"
status=$?
pwd >"$2/cwd"; declare -px >"$2/env"
exit $status`

// run types one line and returns what came of it.
func (p *person) run(t *testing.T, c typed) (status int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", typing, "bash", c.text, p.top, p.project)
	cmd.Dir, cmd.Env = p.project, p.env
	if keys := keysFor(c.text); keys != nil {
		return p.sit(ctx, t, cmd, keys)
	}
	// A file and no pipe: what goes on in the background does not hold us up.
	out, err := os.Create(filepath.Join(p.top, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	text, _ := os.ReadFile(out.Name())
	if ctx.Err() != nil || cmd.ProcessState == nil {
		t.Errorf("line %d: %s: hangs: %v\n%s", c.line, c.text, err, text)
		return -1, string(text)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// must types a line that prepares something.
func (p *person) must(t *testing.T, line string) {
	t.Helper()
	if status, said := p.run(t, typed{text: line}); status != 0 {
		t.Fatalf("%s: exit %d\n%s", line, status, said)
	}
}

// nothingRuns waits until nobody but us is left on the stage.
func nothingRuns(t *testing.T) {
	t.Helper()
	var left []string
	if !wait.For(func() bool { left = others(); return len(left) == 0 }) {
		t.Errorf("left behind: %q", left)
	}
}

// nothingChanged: who installs something for all users also shows how to remove it.
func nothingChanged(t *testing.T) {
	t.Helper()
	for _, place := range covered {
		filepath.WalkDir(layerOf(place), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				t.Errorf("left behind: %s", strings.TrimPrefix(path, filepath.Join(kit, "layer")))
			}
			return nil
		})
	}
}

// others are the processes of the stage that are not this one, nor over.
func others() (out []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil || pid == os.Getpid() {
			continue
		}
		after := stat[bytes.LastIndexByte(stat, ')')+1:]
		if state := strings.TrimSpace(string(after)); !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			out = append(out, fmt.Sprintf("%d %s", pid, strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return out
}
