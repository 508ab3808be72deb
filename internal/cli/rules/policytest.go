package rules

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/explain/policytest"
	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

const aboutTest = `Holds a file of tests against the policy: by default .ringfence.test beside the
project's policy. Each line is a test: deny read ~/.ssh/**, allow connect HOST:PORT,
hold write .git/hooks/**, deny env NAME, deny resolve NAME, deny push BRANCH; above them
may stand: agent NAME, and: flags FLAGS of a launch. Exit 0: all hold, 1: some do not,
2: not tested.`

// policyTested are the flags of policy test.
type policyTested struct {
	*Flags
	cmd            *command.Command
	who, policy    string
	replay, asJSON bool
	try            bool // in a sandbox
}

func newPolicyTested() *policyTested {
	cmd := &command.Command{Name: "policy test", Args: "[FILE] [--live] [--replay [SESSION...]] [flags]", Short: "hold a file of tests against the policy, or past sessions", Takes: command.Raw,
		Long: aboutTest, Examples: []string{"ringfence policy test", "ringfence policy test --live", "ringfence policy test --replay --policy new.toml"}}
	t, f := &policyTested{cmd: cmd}, &cmd.Flags
	f.StringVar(&t.who, "agent", "", "`NAME` of the agent that would be launched")
	f.StringVar(&t.policy, "policy", "", "test `FILE` in the place of your policy.toml")
	f.BoolVar(&t.replay, "replay", false, "hold the decisions of past sessions against the policy as it is now: of those that are named, or of all in this project")
	f.BoolVar(&t.asJSON, "json", false, "print JSON")
	t.Flags = NewFlags(cmd)
	// The launch has a flag of that name too, which the file's own flags may give.
	f.Lookup("live").Usage = "also try each line in a throw-away sandbox; a difference is a failure"
	f.Group["live"] = 0
	return t
}

// policyTest tests a policy.
func policyTest() *command.Command {
	t := newPolicyTested()
	t.cmd.Run = t.run
	return t.cmd
}

func (t *policyTested) run(c *command.Console, args []string) (int, error) {
	if slices.Equal(args, []string{policytest.Arg}) {
		if !launch.Nested() {
			return 2, fault.New(fault.Usage, "ringfence policy test --help", "this is for the inside of a sandbox")
		}
		return 0, policytest.Main(c.In, c.Out)
	}
	rest, err := t.cmd.ParseMixed(args)
	if err != nil {
		return 2, err
	}
	if t.replay {
		return replay(c, t, rest)
	}
	if len(rest) > 1 {
		return 2, fault.New(fault.Usage, "ringfence policy test FILE", "policy test takes one file")
	}
	f, err := testFile(c, t, rest)
	if err != nil {
		return 2, err
	}
	// Once more with what the file says of the launch before what was typed.
	t = newPolicyTested()
	if more, err := t.cmd.ParseMixed(f.Flags); err != nil || len(more) > 0 {
		return 2, fault.New(fault.Usage, "ringfence run --help lists them", "%s: these are no flags of a launch: %q", plan.Show(f.Name), f.Flags)
	}
	view := t.live
	t.live = false
	if _, err := t.cmd.ParseMixed(args); err != nil {
		return 2, err
	}
	t.try, t.live = t.live, view
	if t.who == "" {
		t.who = f.Agent
	}
	results, err := expectations(c, t, f)
	if err != nil {
		return 2, err
	}
	return printTest(c, results, t)
}

// prepareTest is the launch that is tested.
func prepareTest(c *command.Console, t *policyTested) (launch.Options, error) {
	who := t.who
	if who == "" {
		who = agent.Command
	}
	opt, err := t.Options(c, who, []string{"/bin/sh"})
	if err != nil || t.policy == "" {
		return opt, err
	}
	if _, err := os.Stat(t.policy); err != nil {
		return opt, fault.New(fault.Usage, "", "--policy: %w", err)
	}
	opt.PolicyFile, err = filepath.Abs(t.policy)
	return opt, err
}

// testFile reads the tests: of the file that is named, or of the project.
func testFile(c *command.Console, t *policyTested, rest []string) (*policytest.File, error) {
	name := policytest.Name
	if len(rest) == 1 {
		name = rest[0]
	} else {
		opt, err := prepareTest(c, t)
		if err != nil {
			return nil, err
		}
		s, err := session.Look(opt)
		if err != nil {
			return nil, err
		}
		name = filepath.Join(s.Workspaces[0].Path, name)
	}
	data, err := command.ReadFile(name)
	switch {
	case fault.KindOf(err) == fault.Usage:
		return nil, err
	case err != nil:
		return nil, fault.New(fault.Usage, "write one: deny read ~/.ssh/**", "there are no tests: %w", err)
	}
	return policytest.Parse(name, data)
}

// expectations holds every line against the resolver and, on wish, against a sandbox.
func expectations(c *command.Console, t *policyTested, f *policytest.File) ([]policytest.Result, error) {
	opt, err := prepareTest(c, t)
	if err != nil {
		return nil, err
	}
	opt.Look = true
	s, err := session.Prepare(opt)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(f.Name))
	if err != nil {
		return nil, err
	}
	w := s.World()
	results := f.Run(w, policytest.Place{Dir: dir, Home: s.User.Home}, t.try)
	if !t.try {
		return results, nil
	}
	if err := tryLive(c, opt, f, results, w); err != nil {
		return nil, fmt.Errorf("try the tests in a sandbox: %w", err)
	}
	policytest.Settle(results)
	return results, nil
}

// tryLive starts a throw-away sandbox under the same policy, with a gate that leads
// nowhere, and lets a probe try every line in it.
func tryLive(c *command.Console, opt launch.Options, f *policytest.File, results []policytest.Result, w *why.World) error {
	trial := f.NewTrial(results, w)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range f.Names() {
		if !w.Has(name) {
			opt.Environ = append(slices.Clone(opt.Environ), name+"="+rand.Text())
		}
	}
	scratch, err := os.MkdirTemp("", "ringfence-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	opt.Look = false
	s, err := supervisor.Throwaway(opt, self, []string{self, "policy", "test", policytest.Arg}, scratch)
	if err != nil {
		return err
	}
	defer s.Close()
	trial.Apart = !slices.Contains(s.Rung.Offer().Views, plan.Live)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	asks, err := policytest.EncodeAsks(trial.Asks)
	if err != nil {
		return err
	}
	_, out, err := Play(ctx, c, s, asks)
	if err != nil {
		return err
	}
	met, err := policytest.DecodeMet(out, len(trial.Asks))
	if err != nil {
		return err
	}
	records, err := allRecords(s.Dirs.Journal(), s.ID)
	if err != nil {
		return err
	}
	trial.Judge(met, records, func(name string) string { return command.Getenv(opt.Environ, name) })
	return nil
}

// allRecords reads a journal. Without a network there is none.
func allRecords(dir, id string) ([]journal.Record, error) {
	r, err := journal.Open(dir, id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []journal.Record
	for rec, err := range r.All() {
		var bad *journal.BadLine
		switch {
		case errors.As(err, &bad): // who wants to hear of it asks ringfence log
		case err != nil:
			return nil, err
		default:
			out = append(out, rec)
		}
	}
	return out, nil
}

func printTest(c *command.Console, results []policytest.Result, t *policyTested) (int, error) {
	failed := 0
	for _, r := range results {
		if !r.Pass {
			failed++
		}
	}
	status := min(failed, 1)
	if t.asJSON {
		return status, c.JSON(results)
	}
	w := bufio.NewWriter(c.Out)
	for i := range results {
		writeResult(w, &results[i])
	}
	if err := w.Flush(); err != nil {
		return 2, err
	}
	c.Say("%d of %d tests hold", len(results)-failed, len(results))
	return status, nil
}

// writeResult prints one line, and what is against it.
func writeResult(w io.Writer, r *policytest.Result) {
	if r.Pass {
		fmt.Fprintf(w, "ok    %s%s\n", command.Inert(r.Text), triedOf(r))
		return
	}
	fmt.Fprintf(w, "FAIL  %s\n", command.Inert(r.Text))
	line(w, "", r.Source.String())
	shown := 0
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Pass {
			continue
		}
		if shown++; shown > 5 {
			line(w, "", "and others")
			break
		}
		f := &c.Finding
		line(w, "", fmt.Sprintf("%s: %s by %s: %s", plan.Show(c.Subject), f.Verdict, f.By, f.Reason))
		if f.Rule != "" {
			line(w, "rule", fmt.Sprintf("%s (%s)", f.Rule, f.Source))
		}
		if c.Live != nil && c.Live.Differs {
			line(w, "inside", fmt.Sprintf("it was otherwise: %s", c.Live.Met))
		}
	}
}

// triedOf says how much a line stood for.
func triedOf(r *policytest.Result) string {
	live, skipped := 0, 0
	for _, c := range r.Cases {
		switch {
		case c.Live == nil:
		case c.Live.Skipped != "":
			skipped++
		default:
			live++
		}
	}
	switch {
	case live+skipped > 0:
		return fmt.Sprintf("  (%d, tried inside %d)", r.Tried, live)
	case r.Tried > 1:
		return fmt.Sprintf("  (%d)", r.Tried)
	}
	return ""
}
