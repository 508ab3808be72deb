package session

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Advice names the posture that the facts call for, and why, in one line; "" where nothing
// says that this is not the user's everyday work.
func (s *Session) Advice() string {
	e := exposure(s)
	if e.Foreign != "" && s.Repo != nil {
		if why := audit.Fresh(s.world(), s.Repo); why != "" {
			return why + ": --for untrusted-repo"
		}
	}
	if len(e.Readers) > 0 {
		return e.Readers[0] + " brings in what strangers write: --for untrusted-text"
	}
	if what := s.pushes(); what != "" {
		return what + ": --for autonomous"
	}
	return ""
}

// pushes says what policy opens to git beyond the default, and where; "" where it opens
// nothing, or nothing can be pushed. What was pushed there is others' at once, and no
// undo brings it back.
func (s *Session) pushes() string {
	open := s.Policy.Broker.Git.Values()
	if len(open) == 0 || s.Repo == nil || !s.Policy.Broker.ForgesOn() || s.Mode() == launch.ModeNone {
		return ""
	}
	remotes, err := s.Repo.Remotes()
	if err != nil || len(remotes) == 0 {
		return ""
	}
	return fmt.Sprintf("[broker] git opens %s at %s", strings.Join(open, ", "), plan.Show(remotes[0].Host+"/"+remotes[0].Path))
}

func (s *Session) world() audit.World {
	return audit.World{Home: s.User.Home, Environ: s.envInput.Launcher}
}
