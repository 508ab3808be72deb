package supervisor

import (
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Throwaway prepares a session that keeps nothing and whose gate decides like any
// other and leads nowhere: no name is looked up and nothing is dialled. argv, which
// begins with self, runs in the place of the agent. scratch takes what it records.
func Throwaway(opt launch.Options, self string, argv []string, scratch string) (*session.Session, error) {
	opt.Passing = true
	if !launch.System(self) {
		opt.Binds = append(opt.Binds, plan.Mount{Src: self, Dst: self, Why: "test"})
	}
	s, err := session.Prepare(opt)
	if err != nil {
		return nil, err
	}
	s.Plan.Process.Argv = launch.Raws(argv)
	s.Dirs.State = scratch
	nowhere := &canaries{}
	s.Upstream, s.Resolver, s.Dial, s.Reach.Publish = nil, nowhere, nowhere.dial, nil
	return s, nil
}
