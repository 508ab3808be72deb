package run

import (
	"bytes"
	"context"
	"io"
	"os"

	"ringfence.dev/ringfence/internal/agent"
	"ringfence.dev/ringfence/internal/plan"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/rung"
	"ringfence.dev/ringfence/internal/rung/native"
	"ringfence.dev/ringfence/internal/verify"
)

// Prove runs a job of verify in a sandbox made like any other, and collects what
// can be seen of it. Only the witness at launch is replaced: verify is to see what
// is missing, not to be stopped by it.
func Prove(flags *policy.Policy) verify.Launch {
	return func(ctx context.Context, job verify.Job) (verify.Seen, error) {
		opt := Options{Agent: agent.Command, Args: job.Argv, Dir: job.Workspace, Workspaces: []string{job.Workspace},
			Flags: flags, Environ: job.Env, Passing: true}
		if !system(job.Self) {
			opt.Binds = []plan.Mount{{Src: job.Self, Dst: job.Self, Why: "verify"}}
		}
		s, err := Prepare(opt)
		if err != nil {
			return verify.Seen{}, err
		}
		defer s.Close()
		return s.prove(ctx, job.Stdin)
	}
}

func (s *Session) prove(ctx context.Context, stdin []byte) (seen verify.Seen, err error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return seen, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return seen, err
	}
	defer outR.Close()
	go func() {
		io.Copy(inW, bytes.NewReader(stdin))
		inW.Close()
	}()
	r := native.Rung{Witness: func(pid int, e rung.Evidence) error {
		seen, err = verify.Look(pid)
		seen.Keyring = e.Keyring
		return err
	}}
	box, err := r.Start(ctx, s.Plan, rung.Stdio{In: inR, Out: outW, Err: os.Stderr, Stopped: func() {}})
	inR.Close()
	outW.Close()
	if err != nil {
		return seen, explainFailure(err, s.Facts)
	}
	defer box.Close()
	stop := context.AfterFunc(ctx, func() { box.Close() })
	defer stop()
	if seen.Stdout, err = io.ReadAll(io.LimitReader(outR, 4<<20)); err != nil {
		return seen, err
	}
	_, err = box.Wait()
	return seen, err
}
