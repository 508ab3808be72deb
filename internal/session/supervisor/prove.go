package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/ladder"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Promise is what the user's own policy asks of a sandbox, and what it lets in.
// The project around is not asked: what is proved is the machine.
type Promise struct {
	Home   string
	State  string
	Shown  []string // paths
	Passed []string // names of variables
	Rung   rung.Rung
}

// Promised reads the user's policy under the ceiling, and what flags add.
func Promised(environ []string, flags *policy.Policy) (Promise, error) {
	d, err := launch.Who(launch.Options{Environ: environ})
	if err != nil {
		return Promise{}, err
	}
	pol, err := d.OwnPolicy(flags)
	if err != nil {
		return Promise{}, err
	}
	p := Promise{Home: d.User.Home, State: d.Dirs.State}
	if p.Rung, err = ladder.Chosen(pol); err != nil {
		return p, err
	}
	for _, g := range policy.Grants(pol, d.User.Home) {
		p.Shown = append(p.Shown, g.Path)
	}
	for _, r := range append(pol.Env.Pass, pol.Env.Force...) {
		p.Passed = append(p.Passed, r.Value)
	}
	return p, nil
}

// Prove runs a job of verify in a sandbox made like any other, and collects what
// can be seen of it. Only the witness at launch is replaced: verify is to see what
// is missing, not to be stopped by it.
func Prove(flags *policy.Policy) verify.Launch {
	return func(ctx context.Context, job verify.Job) (verify.Seen, error) {
		seen, err := proveOnce(ctx, flags, job)
		if job.Gate == nil && rung.FailedAt(err, rung.StepGate) {
			// Without a network the other walls can still be proved; those of
			// the network say what is missing for it.
			closed := *flags
			closed.Network.Mode = &policy.Rule{Value: launch.ModeNone, Source: policy.Source{File: "verify"}}
			seen, err = proveOnce(ctx, &closed, job)
		}
		var f *notLaunched
		if errors.As(err, &f) {
			err = f.told
		}
		return seen, err
	}
}

// notLaunched is a sandbox that could not be made.
type notLaunched struct {
	err  error
	told error // for people
}

func (e *notLaunched) Error() string { return e.err.Error() }
func (e *notLaunched) Unwrap() error { return e.err }

func proveOnce(ctx context.Context, flags *policy.Policy, job verify.Job) (verify.Seen, error) {
	opt := launch.Options{Agent: launch.Command, Args: job.Argv, Dir: job.Workspace, Workspaces: []string{job.Workspace},
		Flags: flags, Environ: job.Env, Passing: true}
	if !launch.System(job.Self) {
		opt.Binds = []plan.Mount{{Src: job.Self, Dst: job.Self, Why: "verify"}}
	}
	s, err := session.Prepare(opt)
	if err != nil {
		return verify.Seen{}, err
	}
	defer s.Close()
	s.Dirs.State = job.Scratch // the journal goes with the canaries
	none := noNetwork(s)
	if err := lead(s, job.Gate); err != nil {
		return verify.Seen{}, err
	}
	seen, err := proveSession(ctx, s, job)
	if err == nil && job.Gate != nil {
		err = none
	}
	return seen, err
}

func proveSession(ctx context.Context, s *session.Session, job verify.Job) (seen verify.Seen, err error) {
	l := &live{session: s, talk: Talk{Warn: func(string) {}}}
	if err := l.openBook(); err != nil {
		return seen, err
	}
	defer l.closeBook(nil)
	door, err := openDoor(s, l)
	if err != nil {
		return seen, err
	}
	defer door.Close()
	desk, err := l.openDesk()
	if err != nil {
		return seen, err
	}
	defer desk.Close()
	keep, err := l.beginTrees()
	if err != nil {
		return seen, err
	}
	defer l.closeStatus()
	defer keep.End(nil)
	if job.Gate != nil {
		if job.Stdin, err = job.Gate.Ready(desk.socket(), door.shut); err != nil {
			return seen, err
		}
	}
	hooks := rung.Hooks{KeepCut: -1, Witness: func(s rung.Seen) error {
		if !s.Word {
			seen.Outside = s.Outside
		}
		seen.Keyring, seen.Place = s.Keyring, s.Place
		return nil
	}}
	if door != nil {
		hooks.Net = door.gate.Take
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return seen, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return seen, err
	}
	defer outR.Close()
	hooks.Stdio = rung.Stdio{In: inR, Out: outW, Err: os.Stderr, Stopped: func() {}}
	on := s.Rung
	if job.Link != nil {
		linked, ok := on.(rung.Linked)
		if !ok {
			return seen, fmt.Errorf("the rung %s has no link", on.Name())
		}
		on = linked.Through(job.Link)
	}
	box, err := keep.Launch(ctx, on, *s.Plan, hooks)
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		return seen, &notLaunched{err, rung.Explain(err, s.Facts)}
	}
	defer box.Close()
	if job.Running != nil {
		job.Running()
	}
	go func() {
		io.Copy(inW, bytes.NewReader(job.Stdin))
		inW.Close()
	}()
	stop := context.AfterFunc(ctx, func() { box.Close() })
	defer stop()
	if seen.Stdout, err = io.ReadAll(io.LimitReader(outR, 4<<20)); err != nil {
		return seen, err
	}
	if _, err = box.Wait(); err == nil && job.Ended != nil {
		err = keep.Show(func(undo func() ([]string, error), layer string) { job.Ended(verify.Left{Undo: undo, Layer: layer}) })
	}
	return seen, err
}
