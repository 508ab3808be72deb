// Package state names sessions and keeps what outlives them: the state of each
// project, under a key of its own, so that a poisoned conversation of one project
// cannot reach another.
//
// An agent writes below a project's home directory while it runs, so at the next
// launch everything there is hostile. It is reached through descriptors only, no
// symlink is ever followed, and what stands where something else belongs is set
// aside, never opened. The rest of a project's directory is never shown to an agent.
package state

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
)

// Dirs are ringfence's own directories. Nothing is kept anywhere else in HOME.
type Dirs struct {
	Config  string // $XDG_CONFIG_HOME/ringfence
	State   string // $XDG_STATE_HOME/ringfence
	Runtime string // $XDG_RUNTIME_DIR/ringfence; "" when there is none that is ours alone
}

// XDG places the directories and creates none. All of them, and home, must be ours all
// the way down: with the HOME of somebody else, root would obey his policy and write
// through his links. As the specification asks, a relative value counts as unset. There is no substitute for the runtime
// directory: under /tmp another user could own the name first.
func XDG(env func(string) string, home string) (Dirs, error) {
	if !filepath.IsAbs(home) {
		return Dirs{}, fault.New(fault.Usage, "set HOME to your home directory", "HOME is %q, not an absolute path", home)
	}
	base := func(name, fallback string) string {
		dir := env(name)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(home, fallback)
		}
		return filepath.Join(dir, "ringfence")
	}
	d := Dirs{Config: base("XDG_CONFIG_HOME", ".config"), State: base("XDG_STATE_HOME", ".local/state")}
	if run := env("XDG_RUNTIME_DIR"); filepath.IsAbs(run) && oursAlone(run) {
		d.Runtime = filepath.Join(run, "ringfence")
	}
	for _, dir := range []*string{&home, &d.Config, &d.State} {
		var err error
		if *dir, err = Owned(*dir); err != nil {
			return Dirs{}, err
		}
	}
	return d, nil
}

// Owned resolves a directory, and refuses it if it is not ours all the way down.
func Owned(dir string) (string, error) {
	real, err := sys.Owned(dir)
	if foreign := (*sys.Foreign)(nil); errors.As(err, &foreign) {
		return "", fault.New(fault.Refused, foreign.Hint(), "%q is not yours alone: %w", dir, err)
	}
	return real, err
}

// GrantFile is where what a person granted for good is kept: of one project, or with
// root "" everywhere. It is a policy file that ringfence writes and people may read.
func (d Dirs) GrantFile(root string) string {
	if root == "" {
		return filepath.Join(d.Config, "grants.toml")
	}
	return filepath.Join(d.Config, "projects", Key(root)+".toml")
}

// Journal is where the records of sessions lie.
func (d Dirs) Journal() string { return filepath.Join(d.State, "journal") }

// oursAlone holds for a directory that is owned by us with mode 0700.
func oursAlone(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || fi.Mode().Perm() != 0o700 {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
