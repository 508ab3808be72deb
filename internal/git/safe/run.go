// Package safe runs git so that nothing of a repository and of a person's settings counts
// that could run a program.
package safe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoGit says that there is no git to ask.
var ErrNoGit = errors.New("git is not installed")

// Git is the program, by the path at which the caller found it: whoever works for a project
// takes none that its agent could have put on PATH. "" is none.
type Git string

// Run runs git in a directory. Hooks and the monitor of its repository are off, the user's
// settings are not read. Filters of the repository's own settings do count: whoever cannot
// trust those works in a repository of his own, as Changes does.
func (g Git) Run(ctx context.Context, dir string, args ...string) (string, error) {
	if !filepath.IsAbs(string(g)) {
		return "", ErrNoGit
	}
	cmd := exec.CommandContext(ctx, string(g), append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}, args...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &stderr
	cmd.Env = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C", "HOME=/nonexistent",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "PATH=" + filepath.Dir(string(g)) + ":/usr/bin:/bin"}
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, first)
	}
	return string(out), nil
}
