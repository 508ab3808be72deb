// Package far is the rung that stands somewhere else than its supervisor: the native walls
// in another place, and a link to it. The near end is here, with the gate, the journal and
// the review. The far end is a mode of the same binary; it starts the sandbox as the native
// rung does, and relays.
//
// The near end takes the far end for hostile: whoever broke out of the sandbox has it.
// What it says is bounded, a word that is not its to say ends the link, and the end of the
// link is the end of every connection and of the session. At the far end the end of the
// link ends the sandbox.
//
// Left at risk: what the far end says of its walls is its word. Nobody here saw them.
package far

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Place is where a far end can be.
type Place interface {
	Name() string
	Offer() rung.Offer
	Try(ctx context.Context) []hostfacts.Result
	// Shared says that the files of this machine are there under the same names, and can
	// be changed from there. What waits for review comes over the link in any case.
	Shared() bool
	// Open starts the far end there, and returns the way to it. Closing that ends the far
	// end.
	Open(ctx context.Context, b Begin) (End, error)
}

// Begin is what a place may need to start a far end.
type Begin struct {
	// Within and Join are those of the session, see rung.Hooks: for the fork of the process
	// that all others on this machine come from, and before it has anything to do. Within may
	// fork twice, so nothing else is done in it. nil: there are no limits.
	Within func(fork func(group int) error) error
	Join   func(pid int) error
	Dir    string     // of the session's state on this machine
	Plan   *plan.Plan // of the session, with the names of this machine
	Limits cgroup.Limits
	Judge  rung.Judge    // of Hooks
	Keep   time.Duration // of Hooks
}

// End is a far end that was started.
type End struct {
	io.ReadWriteCloser
	PID     int           // of its process on this machine; 0: it has none
	Disk    int64         // bytes that it can have written; 0: nobody here knows
	Program *rung.Program // what of others runs below the agent; nil: nothing
	// Plan is the same plan with the names of that place, and the same layers in the same
	// order; nil: the names are the same there.
	Plan *plan.Plan
	// Why says more of a launch that failed; nil: there is no more to say.
	Why func(error) error
	// Saw adds what was seen of the place from this machine; nil: nothing was.
	Saw map[string]string
	// Ours is set where the kernel and the program that run there are bytes that this machine
	// chose and compared, on hardware that it made. What its far end says before the agent runs is
	// then a witness's, not only a word. That hardware is trusted for it: an emulator and its
	// firmware are judged by who may change them, and compared only where policy pins them.
	Ours bool
	// Ground is there where the far end's disk is a file of this machine; nil: it is not.
	Ground Ground
	// Lasts is the way to it, where that outlives its connection and says by itself whether
	// the far end is there; nil: it does not.
	Lasts Lasting
}

// Rung is the rung of a place.
type Rung struct{ Place Place }

// Name implements rung.Rung.
func (r Rung) Name() string { return r.Place.Name() }

// Offer implements rung.Rung.
func (r Rung) Offer() rung.Offer { return r.Place.Offer() }

// Try implements rung.Rung.
func (r Rung) Try(ctx context.Context) []hostfacts.Result { return r.Place.Try(ctx) }

// Through implements rung.Linked.
func (r Rung) Through(between func(io.ReadWriteCloser) io.ReadWriteCloser) rung.Rung {
	return Rung{through{r.Place, between}}
}

// through is a place with something in the way to it.
type through struct {
	Place
	between func(io.ReadWriteCloser) io.ReadWriteCloser
}

func (t through) Open(ctx context.Context, b Begin) (End, error) {
	e, err := t.Place.Open(ctx, b)
	if err == nil {
		e.ReadWriteCloser = t.between(e.ReadWriteCloser)
	}
	return e, err
}

// alive is how often the far end is asked whether it is there.
const alive = 10 * time.Second

// Start implements rung.Rung.
func (r Rung) Start(ctx context.Context, p *plan.Plan, h rung.Hooks) (rung.Sandbox, error) {
	if len(p.Watch) > 0 || len(p.Trees) > 0 {
		return nil, fault.New(fault.Refused, "use --rung native for this", "on rung %s nobody hears of what the agent calls: there is no live view and no learning", r.Name())
	}
	end, err := r.open(ctx, p, h)
	if err != nil {
		return nil, err
	}
	sent := cmp.Or(end.Plan, p)
	if err := r.refuse(sent); err != nil {
		end.Close()
		return nil, err
	}
	asked := link.Options{Alive: alive}
	if end.Lasts != nil {
		asked.Alive = 0
	}
	s := newSandbox(link.New(end.ReadWriteCloser, link.Near, asked), h)
	s.program, s.saw, s.ours, s.lasts = end.Program, end.Saw, end.Ours, end.Lasts
	if end.Ground != nil {
		s.ground = &ground{Ground: end.Ground}
		go s.watchGround()
	}
	if end.Disk > 0 {
		s.most.Bytes = min(s.most.Bytes, end.Disk)
	}
	if err := s.launch(ctx, p, sent); err != nil {
		s.link.Close()
		s.pumps.end()
		if end.Why != nil {
			err = end.Why(err)
		}
		return nil, err
	}
	go s.listen()
	go s.syncOn()
	return s, nil
}

// open starts the far end, which is under the limits of the session before it does anything.
func (r Rung) open(ctx context.Context, p *plan.Plan, h rung.Hooks) (End, error) {
	end, err := r.Place.Open(ctx, Begin{Within: h.Within, Join: h.Join, Dir: h.Dir, Plan: p, Limits: h.Limits, Judge: h.Judge, Keep: h.KeepCut})
	switch {
	case err != nil && end.ReadWriteCloser != nil:
		end.Close()
	case err == nil && end.ReadWriteCloser == nil:
		err = errors.New("the far end was not started")
	}
	return end, err
}

// refuse says what a far end cannot do that has its own files. What is the place's own, and
// a copy of ours there, may be written: it goes with the session.
func (r Rung) refuse(p *plan.Plan) error {
	if r.Place.Shared() {
		return nil
	}
	for _, o := range p.Ops {
		if o.Do == plan.DoBind && o.Write && !o.There {
			return fault.New(fault.Refused, "use --rung native for this", "on rung %s what the agent writes to %s could not come back", r.Name(), plan.Show(string(o.Dst)))
		}
	}
	return nil
}

// Clean is text of the far end as people may see it.
func Clean(s string) string {
	const most = 2000
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if len(out) == most {
			break
		}
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			r = '?'
		}
		out = append(out, r)
	}
	return string(out)
}

var errEnded = errors.New("the sandbox has ended")
