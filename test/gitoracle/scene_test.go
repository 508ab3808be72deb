package gitoracle

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// upstreams is where the remotes of every scene lie. Nothing may write there.
const upstreams = stage.Work + "/up"

// base is the repository that a session begins with.
type base string

const (
	plain base = "plain" // a repository, and no more
	rich  base = "rich"  // with submodules, one of a hostile name, a worktree, a repository inside
)

//go:embed testdata/bases.sh
var basesScript string

var makeBases = sync.OnceValue(func() error {
	for _, dir := range []string{upstreams, stage.Work + "/base"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	s := &scene{dir: stage.Work + "/base"}
	if err := s.furnish(); err != nil {
		return err
	}
	cmd := exec.Command("/bin/bash", "-euc", basesScript)
	cmd.Dir, cmd.Env = s.dir, append(s.env(), "UP="+upstreams)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the repositories: %w\n%s", err, out)
	}
	return nil
})

// scene is one workspace on one host: a home with settings of its own, and a
// directory outside of the workspace that nobody may write to.
type scene struct {
	dir  string
	from string // where sessions start in the workspace
}

func (s *scene) ws() string      { return s.dir + "/ws" }
func (s *scene) start() string   { return filepath.Join(s.ws(), s.from) }
func (s *scene) home() string    { return s.dir + "/home" }
func (s *scene) outside() string { return s.dir + "/outside" }
func (s *scene) tmp() string     { return s.dir + "/tmp" }
func (s *scene) canary() string  { return s.outside() + "/ran" }

// newScene makes a scene with a copy of a base.
func newScene(t testing.TB, b base) *scene {
	t.Helper()
	if err := makeBases(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(stage.Work, "s")
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{dir: dir}
	if err := s.furnish(); err != nil {
		t.Fatal(err)
	}
	script := `cp -a "$1" ws; cd ws; git status >/dev/null
		[ ! -e wt ] || { echo "gitdir: $PWD/.git/worktrees/wt" >wt/.git; echo "$PWD/wt/.git" >.git/worktrees/wt/gitdir; }`
	if out, err := s.host(dir, script, stage.Work+"/base/"+string(b)); err != nil {
		t.Fatalf("copy of the base: %v\n%s", err, out)
	}
	return s
}

// close takes the scene away, also what a session made unwritable.
func (s *scene) close() {
	if os.RemoveAll(s.dir) == nil {
		return
	}
	exec.Command("chmod", "-R", "u+rwx", s.dir).Run()
	os.RemoveAll(s.dir)
}

// hostConfig is the user's own configuration. Editor and pager are said here and
// not by variables, so that what a repository says instead would be seen.
const hostConfig = `[user]
	name = A Person
	email = person@example.test
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
[core]
	editor = true
	pager = cat
[gc]
	autoDetach = false
[maintenance]
	autoDetach = false
[advice]
	detachedHead = false
`

func (s *scene) furnish() error {
	for _, dir := range []string{s.home(), s.outside(), s.tmp(), s.home() + "/.config/direnv"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		s.home() + "/.gitconfig":                 hostConfig,
		s.home() + "/.config/direnv/direnv.toml": fmt.Sprintf("[whitelist]\nprefix = [ %q ]\n", s.dir),
		s.outside() + "/README":                  "not the workspace\n",
		s.outside() + "/lib.txt":                 "not the workspace\n",
		s.outside() + "/.keep":                   "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (s *scene) env() []string {
	return []string{
		"HOME=" + s.home(), "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm", "TMPDIR=" + s.tmp(),
		"GIT_CONFIG_NOSYSTEM=1", "SHELL=/bin/bash", "GH_TOKEN=none", "GH_CONFIG_DIR=" + s.tmp() + "/gh", "GH_NO_UPDATE_NOTIFIER=1",
		"XDG_STATE_HOME=" + s.home() + "/.local/state", "XDG_CACHE_HOME=" + s.tmp() + "/cache", "XDG_DATA_HOME=" + s.tmp() + "/data",
	}
}

// host runs a script of the host's, unwatched.
func (s *scene) host(dir, script string, args ...string) (string, error) {
	return s.command(dir, nil, append([]string{"/bin/bash", "-euc", script, "bash"}, args...)...)
}

// command runs a program of the host's and returns all that it said.
func (s *scene) command(dir string, env []string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(s.env(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = errHang
	}
	return string(out), err
}

var errHang = errors.New("did not end")

// prelude is what the lines of hostile scripts use.
//
//go:embed testdata/prelude.sh
var prelude string

// hostile is a script with all that it uses.
func (s *scene) hostile(lines []string) string {
	head := fmt.Sprintf("CANARY=%q OUTSIDE=%q WS=%q UP=%q EXCHANGE=%d\n", s.canary(), s.outside(), s.ws(), upstreams, unix.SYS_RENAMEAT2)
	return head + prelude + strings.Join(lines, "\n") + "\ntrue\n"
}

// bounded is a command for lines, which may well get stuck in a pipe of their own.
func (s *scene) bounded(lines []string) []string {
	return []string{"/usr/bin/timeout", "-s", "KILL", "8", "/bin/bash", "-c", s.hostile(lines)}
}

func stuck(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && (exit.ExitCode() == 128+9 || exit.Sys().(syscall.WaitStatus).Signaled())
}

// session plays lines in a sandbox. That they fail there is no failure.
func (s *scene) session(view string, lines []string) (string, error) {
	argv := []string{stage.Ringfence, "run", "--no-input", "--verbose", "--net", "none"}
	if view == "review" {
		argv = append(argv, "--review")
	}
	out, err := s.command(s.start(), nil, append(argv, append([]string{"--"}, s.bounded(lines)...)...)...)
	if err != nil && !stuck(err) && !s.broken() {
		return out, fmt.Errorf("session: %w\n%s", err, out)
	}
	return out, nil
}

// broken holds where git itself finds no repository any more, since an earlier session
// deleted parts of it: that ringfence does not start there either is right.
func (s *scene) broken() bool {
	_, err := s.command(s.start(), nil, "git", "rev-parse", "--git-dir")
	return err != nil
}

// unfenced plays lines as if there were no sandbox.
func (s *scene) unfenced(lines []string) error {
	if out, err := s.command(s.ws(), nil, s.bounded(lines)...); err != nil && !stuck(err) {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// entry is one change in the report of `ringfence diff --json`.
type entry struct {
	Path      string
	PathBytes []byte `json:"path_bytes"`
	State     string
	Rank      string
}

func (e entry) name() string {
	if e.PathBytes != nil {
		return string(e.PathBytes)
	}
	return e.Path
}

// report asks for the changes of the latest session. None is left of one that
// changed nothing.
func (s *scene) report() ([]entry, error) {
	cmd := exec.Command(stage.Ringfence, "diff", "--json")
	cmd.Dir, cmd.Env = s.start(), s.env()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if len(out) == 0 && strings.Contains(said.String(), "no session has left anything") {
		return nil, nil
	}
	var report struct{ Entries []entry }
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("ringfence diff --json: %w\n%s%s", err, out, said.String())
	}
	return report.Entries, nil
}

// applyHarmless applies what waits and is not ranked as run unasked. What a person
// chose that was ranked so is his own doing; this must run nothing.
func (s *scene) applyHarmless() error {
	entries, err := s.report()
	if err != nil {
		return err
	}
	var paths []string
	for _, e := range entries {
		if e.State != "waits" || e.Rank == "unasked" || slices.ContainsFunc(entries, func(o entry) bool {
			return o.Rank == "unasked" && strings.HasPrefix(o.name(), e.name()+"/")
		}) {
			continue
		}
		switch p := e.name(); {
		case filepath.IsLocal(p):
			paths = append(paths, "./"+p)
		case filepath.IsAbs(p):
			paths = append(paths, p) // of several trees
		}
	}
	if len(paths) == 0 {
		return nil
	}
	// What cannot be applied stays behind, and is not our question.
	out, err := s.command(s.start(), nil, append([]string{stage.Ringfence, "apply", "--yes", "--partial"}, paths...)...)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 2 || exit.ExitCode() < 0) {
		return fmt.Errorf("apply: %w\n%s", err, out)
	}
	return nil
}

// undo takes back what the latest session did.
func (s *scene) undo() error {
	out, err := s.command(s.start(), nil, stage.Ringfence, "undo", "--yes")
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 2 || exit.ExitCode() < 0) {
		return fmt.Errorf("undo: %w\n%s", err, out)
	}
	return nil
}
