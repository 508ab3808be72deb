package session

import (
	"ringfence.dev/ringfence/internal/audit"
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
	return ""
}

func (s *Session) world() audit.World {
	return audit.World{Home: s.User.Home, Environ: s.envInput.Launcher}
}
