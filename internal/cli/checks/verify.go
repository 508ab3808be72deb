package checks

import (
	"context"
	"os"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

// Verify proves every defence in a throw-away sandbox.
func Verify() *command.Command {
	cmd := &command.Command{Name: "verify", Args: "[--rung NAME] [--json]", Short: "prove every defence in a throw-away sandbox",
		Long:     "Plants canaries on this host, looks for them from inside a throw-away sandbox and, as a\ncontrol, from outside. Exit 0: all held or waived, 1: something is missing or partly there.\nA check that only other rungs claim is n/a, and no failure.",
		Examples: []string{"ringfence verify", "ringfence verify --rung native --json"}}
	on := cmd.Flags.String("rung", "", "prove the rung `NAME` (default: the one that policy uses)")
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		conf, err := proof(c, *on)
		if err != nil {
			return 2, err
		}
		step, done := c.Progress("looking for canaries, step", verify.Steps)
		conf.Step = step
		report, err := verify.Run(context.Background(), conf)
		done()
		if len(report.Rows) == 0 {
			return 2, err
		}
		if *asJSON {
			if e := c.JSON(report); e != nil {
				return 2, e
			}
		} else if e := c.Verdicts(report.Table); e != nil {
			return 2, e
		}
		if err != nil {
			c.Explain(err)
		}
		if report.Count(verify.Missing)+report.Count(verify.Partly) > 0 {
			return 1, nil
		}
		return 0, nil
	}
	return cmd
}

// proof is what is verified, on the rung that is named or else on the usual one.
func proof(c *command.Console, on string) (verify.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return verify.Config{}, err
	}
	flags, err := policy.UseRung(on, "", "")
	if err != nil {
		return verify.Config{}, err
	}
	p, err := supervisor.Promised(c.Environ, flags)
	if err != nil {
		return verify.Config{}, err
	}
	offer := p.Rung.Offer()
	return verify.Config{Self: self, Home: p.Home, State: p.State, Environ: c.Environ, Shown: p.Shown, Passed: p.Passed,
		Rung: verify.Rung{Name: rung.Title(p.Rung), Witness: offer.Witness, Weaker: offer.Weaker, Leaves: offer.Leaves, Word: offer.Word, Review: offer.Views[0] == plan.Review, Slow: offer.Slow, Built: offer.Walls[plan.WallMount] == rung.Place}, Launch: supervisor.Prove(flags)}, nil
}
