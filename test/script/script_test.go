package script

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/stage"
)

func TestMain(m *testing.M) { stage.Main(m) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Files:               mine(t),
		WorkdirRoot:         stage.Work,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "sound": sound},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Getuid() == 0, nil
			case "user":
				return os.Getuid() != 0, nil
			case "live":
				return rungs.Plain(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// same begins the names of scripts about what is decided, said and kept: it is decided
// by the same code for both users. What is mounted, masked, watched and cleared away is
// in the others.
var same = []string{"agent-", "audit", "dry-run", "env-", "gc", "git-many", "grants", "help", "hook", "init", "learn", "log-", "mcp-agent", "mcp-drift", "mcp-narrow",
	"mounts-", "names", "net_", "note", "pages", "policy-", "project-", "scan", "secret-", "status", "supply", "toolchain", "trust", "why-"}

// differs finds a line that is for one user.
var differs = regexp.MustCompile(`(?m)^\[!?(root|user)\] `)

// live are the scripts that need the live view, or say its words: that a change is on the
// host when the session has ended, is held or can be undone, or that inside and outside meet
// by files of the workspace. Other rungs have none. names has paths besides that are not
// UTF-8, which gVisor's bundle cannot name; secrets-granted and secrets-uprooted want a mask
// by mount where gVisor ends the session, which test/gvisor plays; so does settings-changed.
// mcp-ends looks for a server among the processes of the host, where a sentry shows none.
var live = []string{
	"absent", "drill", "dry-run", "env-held", "gc-work", "git-above", "git-am", "git-bare", "git-clone", "git-config", "git-many",
	"git-staged", "git-submodule", "git-submodule-worktree", "git-worktree", "grants", "killed", "learn", "learn-agent", "log-verify",
	"mcp-ends", "names", "outside", "ownership", "policy-show", "policy-test", "policy-test-live", "scan-git",
	"secrets-committed", "secrets-git", "secrets-granted", "secrets-held", "secrets-links", "secrets-moved", "secrets-stash",
	"secrets-uprooted", "session", "settings-changed", "stdio", "undo", "undo-apply", "undo-beside", "undo-git", "undo-limits", "why-last",
	"why-path", "workspace-symlink", "workspaces",
}

// mine are the scripts that this user plays: all, but of those that are the same for both
// every other one.
func mine(t *testing.T) (out []string) {
	files, err := filepath.Glob("../../testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !rungs.Plain() && slices.Contains(live, strings.TrimSuffix(filepath.Base(file), ".txtar")) {
			continue
		}
		begins := func(with string) bool { return strings.HasPrefix(filepath.Base(file), with) }
		if slices.ContainsFunc(same, begins) && !differs.Match(text) {
			if n++; !stage.Mine(n) {
				continue
			}
		}
		out = append(out, file)
	}
	return out
}

// setup gives every script a home directory, $HOME, and starts it in a project
// in there, ~/project.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(filepath.Join(home, "project"), 0o755); err != nil {
		return err
	}
	env.Cd = filepath.Join(home, "project")
	for name, value := range map[string]string{
		"HOME": home, "STATE": filepath.Join(home, ".local/state/ringfence"), "SMALL": stage.Small,
		"PATH": filepath.Dir(stage.Ringfence) + ":/usr/local/bin:/usr/bin:/bin",
		"LANG": "C.UTF-8", "TERM": "xterm", "TMPDIR": "/tmp",
	} {
		env.Setenv(name, value)
	}
	return nil
}

// exits runs a command and wants that exit status, as a shell tells it.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARGS]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
		if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
			got = 128 + int(ws.Signal())
		}
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// sound runs in each repository on the host what shows whether a session left it whole:
// every object and reference, every worktree, and a collection of what is not needed.
func sound(ts *testscript.TestScript, neg bool, dirs []string) {
	if neg || len(dirs) == 0 {
		ts.Fatalf("usage: sound DIR...")
	}
	for _, dir := range dirs {
		for _, args := range [][]string{
			{"fsck", "--strict", "--no-dangling"}, {"log", "--all", "--oneline"}, {"status", "--short"}, {"worktree", "list", "--porcelain"},
			{"gc", "-q"}, {"log", "--all", "-p", "--oneline"},
		} {
			if _, err := os.Stat(ts.MkAbs(dir) + "/HEAD"); err == nil && args[0] == "status" {
				continue // a bare repository has none
			}
			ts.Check(ts.Exec("git", append([]string{"-C", ts.MkAbs(dir)}, args...)...))
		}
	}
}
