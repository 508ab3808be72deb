package workspace

import (
	"os/exec"
	"path/filepath"
)

// base returns what git had at a path when the session began: both sides come from
// it, whatever was changed and not committed by then. Git is asked with nothing of
// the repository's own settings that could run a program.
func (t *Tree) base(rel string) ([]byte, bool) {
	if t.Head == "" || t.Prefix != "" {
		return nil, false
	}
	git, err := exec.LookPath("git")
	if err != nil || !filepath.IsAbs(git) {
		return nil, false
	}
	cmd := exec.Command(git, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-replace-objects",
		"cat-file", "blob", t.Head+":"+rel)
	cmd.Dir = t.Path
	cmd.Env = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C"}
	out, err := cmd.Output()
	return out, err == nil
}
