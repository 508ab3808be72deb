package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Workspace is a directory of the host that the agent works in.
type Workspace struct {
	Path  string // canonical
	Given string // as the user wrote it, absolute; may be a symlink to Path
	Write bool
	ID    plan.Identity
	Why   string
}

// notWorkspaces can never be one: the agent would own what the system or the
// sandbox itself stands on.
var notWorkspaces = []string{"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32",
	"/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", "/var/tmp", "/mnt", "/media", plan.Own}

// openWorkspace resolves a path and refuses what must not be a workspace.
func openWorkspace(path string, write bool, home, why string) (Workspace, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Workspace{}, fmt.Errorf("workspace %q: %w", path, err)
	}
	real, id, err := resolveDir(abs)
	if err != nil {
		return Workspace{}, fault.New(fault.Refused, "name a directory that exists and that you can enter", "workspace %q: %w", path, err)
	}
	if err := refuseWorkspace(real, home); err != nil {
		return Workspace{}, err
	}
	return Workspace{Path: real, Given: abs, Write: write, ID: id, Why: why}, nil
}

func refuseWorkspace(real, home string) error {
	const hint = "start ringfence in a project directory, or name one with --workspace PATH"
	switch {
	case file.Within(home, real):
		what := "your home directory"
		if real != home {
			what = "a directory above your home directory"
		}
		return fault.New(fault.Refused, hint, "workspace %q is %s: every credential in it would be visible", real, what)
	case slices.Contains(notWorkspaces, real):
		return fault.New(fault.Refused, hint, "workspace %q is a directory of the system", real)
	}
	if name := homeOf(real); name != "" {
		return fault.New(fault.Refused, hint, "workspace %q is the home directory of %q", real, name)
	}
	for _, d := range UnderNothing {
		if file.Within(real, d) {
			return fault.New(fault.Refused, hint, "workspace %q lies in %s, which holds no files of yours", real, d)
		}
	}
	return nil
}

// resolveDir returns the path without symlinks and the inode that it names.
func resolveDir(path string) (string, plan.Identity, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", plan.Identity{}, Cause(err)
	}
	st, err := os.Stat(real)
	if err != nil {
		return "", plan.Identity{}, Cause(err)
	}
	if !st.IsDir() {
		return "", plan.Identity{}, errors.New("not a directory")
	}
	// An unreadable directory would only fail later, and less clearly.
	d, err := os.Open(real)
	if err != nil {
		return "", plan.Identity{}, Cause(err)
	}
	d.Close()
	return real, Identity(st), nil
}
