package review

import (
	"os"
	"os/exec"
	"path/filepath"
)

// base returns what git had at a path when the session began: both sides come from
// it, whatever was changed and not committed by then.
func (t treeWork) base(rel string) ([]byte, bool) {
	if t.Head == "" || t.Prefix != "" {
		return nil, false
	}
	if rel == ".git/index" {
		return t.baseIndex()
	}
	return t.askGit("cat-file", "blob", t.Head+":"+rel)
}

// baseIndex returns the host's index if it lists just what that commit has: whoever
// asks git for the status writes it anew, and nobody's work is in it.
func (t treeWork) baseIndex() ([]byte, bool) {
	if _, same := t.askGit("diff-index", "--cached", "--quiet", "--no-ext-diff", "--ignore-submodules=dirty", t.Head); !same {
		return nil, false
	}
	b, err := os.ReadFile(filepath.Join(t.Path, ".git/index"))
	return b, err == nil
}

// askGit asks git with nothing of the repository's own settings that could run a program.
func (t treeWork) askGit(args ...string) ([]byte, bool) {
	git := t.work.host()
	if git == "" {
		return nil, false
	}
	cmd := exec.Command(string(git), append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-replace-objects"}, args...)...)
	cmd.Dir = t.Path
	cmd.Env = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}
	out, err := cmd.Output()
	return out, err == nil
}
