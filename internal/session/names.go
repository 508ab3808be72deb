package session

import (
	"path/filepath"
	"time"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/trees"
	"ringfence.dev/ringfence/internal/state"
)

// ProjectGrants is where rules for the project around dir are kept.
func ProjectGrants(dir string, environ []string) (string, error) {
	s, err := Look(launch.Options{Dir: dir, Environ: environ, Flags: &policy.Policy{}, NoProject: true})
	if err != nil {
		return "", err
	}
	return s.Dirs.GrantFile(s.ProjectRoot()), nil
}

// JournalDir is where the records of sessions lie.
func JournalDir(dirs state.Dirs) string { return filepath.Join(dirs.State, "journal") }

// UndoTotal is how much all sessions may keep for undo, by the user's own policy.
func UndoTotal(environ []string) (int64, error) {
	p, err := launch.Who(launch.Options{Environ: environ})
	if err != nil {
		return 0, err
	}
	pol, err := p.OwnPolicy(nil)
	if err != nil {
		return 0, err
	}
	return pol.Workspace.UndoTotal.Number(), nil
}

// ScratchJournal is where such a session records.
func ScratchJournal(scratch string) string {
	return JournalDir(state.Dirs{State: filepath.Clean(scratch)})
}

// Options is what the user asked for.
type Options = launch.Options

// What is the same in every session.
const (
	Ceiling    = launch.Ceiling    // the administrator's policy
	NotePath   = launch.NotePath   // where the note for the agent lies inside
	StatusPath = launch.StatusPath // where the state of the session lies inside
	ProjectEnv = launch.ProjectEnv // the project's env file
)

// Nested reports whether we run inside a sandbox of our own.
func Nested() bool { return launch.Nested() }

// Shell is the user's shell, or the one that is there.
func Shell(getenv func(string) string) string { return launch.Shell(getenv) }

// TrustStore opens the record of what the user accepted.
func TrustStore(state string) *policy.TrustStore { return launch.TrustStore(state) }

// ReadProjectEnv reads the project's env file, and digests those same bytes.
func ReadProjectEnv(root string) (data []byte, digest string, err error) {
	return launch.ReadProjectEnv(root)
}

// ForgetSeen removes what is remembered of trees that are gone or were not changed for longer than age.
func ForgetSeen(dirs state.Dirs, now time.Time, age time.Duration) (int, error) {
	return trees.ForgetSeen(dirs, now, age)
}
