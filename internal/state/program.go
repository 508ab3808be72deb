package state

import (
	"fmt"
	"os/exec"
	"path/filepath"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

// Program finds a program of the host that ringfence itself is to run, in a PATH. A virtual
// environment or a .envrc puts a directory of the project in front, where its agent writes:
// what it could have put there is passed over, and so is all below a workspace of any
// project, in our own state, and at a relative place. refuse, which may be nil, names what
// else an agent can write.
func (d Dirs) Program(name, path string, refuse func(string) error) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, name)
		if !filepath.IsAbs(dir) {
			continue
		}
		if _, err := exec.LookPath(at); err != nil {
			continue
		}
		if _, err := sys.OwnedBy(at, func(p string) error { return d.refuse(p, refuse) }); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("%s: %w where no agent can write", name, exec.ErrNotFound)
}

func (d Dirs) refuse(path string, more func(string) error) error {
	if d.State != "" && (d.Has(path) || file.Within(path, d.State)) {
		return fmt.Errorf("an agent can write %q", path)
	}
	if more == nil {
		return nil
	}
	return more(path)
}

// Below refuses what lies in one of the directories.
func Below(dirs ...string) func(string) error {
	return func(path string) error {
		for _, dir := range dirs {
			if dir != "" && file.Within(path, dir) {
				return fmt.Errorf("an agent can write %q", path)
			}
		}
		return nil
	}
}
