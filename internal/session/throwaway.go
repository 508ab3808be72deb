package session

import (
	"path/filepath"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// Throwaway prepares a session that keeps nothing and whose gate decides like any
// other and leads nowhere: no name is looked up and nothing is dialled. argv, which
// begins with self, runs in the place of the agent. scratch takes what it records.
func Throwaway(opt Options, self string, argv []string, scratch string) (*Session, error) {
	opt.Passing = true
	if !system(self) {
		opt.Binds = append(opt.Binds, plan.Mount{Src: self, Dst: self, Why: "test"})
	}
	s, err := Prepare(opt)
	if err != nil {
		return nil, err
	}
	s.Plan.Process.Argv = raws(argv)
	s.dirs.State = scratch
	nowhere := &canaries{}
	s.upstream, s.resolver, s.dial, s.Reach.Publish = nil, nowhere, nowhere.dial, nil
	return s, nil
}

// ScratchJournal is where such a session records.
func ScratchJournal(scratch string) string {
	return JournalDir(state.Dirs{State: filepath.Clean(scratch)})
}
