package cli

import (
	"context"
	"os"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

// verifyCommand proves every defence in a throw-away sandbox.
func verifyCommand() *command {
	cmd := &command{name: "verify", args: "[--json]", short: "prove every defence in a throw-away sandbox",
		long:     "Plants canaries on this host, looks for them from inside a throw-away sandbox and, as a\ncontrol, from outside. Exit 0: all held or waived, 1: something is missing.",
		examples: []string{"ringfence verify"}}
	f := &cmd.flags
	asJSON := f.Bool("json", false, "print JSON")
	cmd.run = func(c *console, args []string) (int, error) {
		conf, err := c.proof()
		if err != nil {
			return 2, err
		}
		step, done := c.progress("looking for canaries, step", verify.Steps)
		conf.Step = step
		report, err := verify.Run(context.Background(), conf)
		done()
		if len(report.Rows) == 0 {
			return 2, err
		}
		if *asJSON {
			if e := c.writeJSON(report); e != nil {
				return 2, e
			}
		} else if e := c.verdicts(report.Table); e != nil {
			return 2, e
		}
		if err != nil {
			c.explain(err)
		}
		if report.Count(verify.Missing) > 0 {
			return 1, nil
		}
		return 0, nil
	}
	return cmd
}

func (c *console) proof() (verify.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return verify.Config{}, err
	}
	p, err := supervisor.Promised(c.environ)
	return verify.Config{Self: self, Home: p.Home, State: p.State, Environ: c.environ,
		Shown: p.Shown, Passed: p.Passed, Launch: supervisor.Prove(&policy.Policy{})}, err
}
