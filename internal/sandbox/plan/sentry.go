package plan

import (
	"errors"
	"path"
	"slices"
)

// Sentry says that the agent runs on gVisor's kernel, which is a process of the host. The
// walls of the plan stand around that process; those that it knows stand again inside.
type Sentry struct {
	Program Raw  `json:"program"`          // runsc, as it was found and judged
	Inside  bool `json:"inside,omitempty"` // this is the plan of PID 1 on that kernel
	Host    bool `json:"host,omitempty"`   // the network stack is the host's, in the sandbox's namespace
}

// InSentry is the part of the plan that PID 1 on the sentry's kernel carries out. It names
// no path of the host but those that the agent sees. Of a network of its own it is told
// where the gate stands: its loopback is not that of the sandbox's namespace.
func (p *Plan) InSentry() *Plan {
	c := *p
	c.Sentry = &Sentry{Program: p.Sentry.Program, Inside: true}
	c.Capture, c.Trees, c.Watch, c.Heard, c.Landlock, c.Ops = nil, nil, nil, nil, Landlock{}, nil
	if p.Capture != nil && p.Capture.Veth != nil {
		c.Capture = &Capture{Listen: p.Capture.Listen, Gate: p.Capture.Gate}
	}
	c.Walls = slices.DeleteFunc(slices.Clone(p.Walls), func(w Wall) bool { return !slices.Contains(SentryWalls(), w) })
	for _, w := range p.Landlock.Write {
		c.Ops = append(c.Ops, Op{Do: DoTmpfs, Dst: w, Size: 1})
	}
	return &c
}

// SentryWalls are those that PID 1 on the sentry's kernel raises itself. The sentry has
// namespaces for users, mounts and processes, which exist before it; it knows neither
// Landlock nor keyrings.
func SentryWalls() []Wall { return []Wall{WallCaps, WallNoNewPriv, WallSeccomp, WallTTY} }

func (s *Sentry) validate() error {
	if s != nil && !path.IsAbs(string(s.Program)) {
		return errors.New("the sentry's program is not an absolute path")
	}
	return nil
}
