package checks

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/audit/drill"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/supervisor"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Drill plays known incidents under the user's policy.
func Drill() *command.Command {
	cmd := &command.Command{Name: "drill", Args: "[DRILL... | all] [--json]", Short: "play known incidents under your policy, in a throw-away workspace", Takes: command.Many,
		Examples: []string{"ringfence drill", "ringfence drill all"},
		Long:     "Plays known incidents with canaries, in a throw-away workspace under your own policy, and\nsays of each step which wall held. Nothing of yours is touched. Without a name it\nlists the drills. Exit 0: all held, 1: a wall did not hold,\n2: not played."}
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		switch {
		case slices.Equal(args, []string{drill.Arg}):
			if err := drill.Main(c.In, c.Out, launch.Nested()); err != nil {
				return 2, err
			}
			return 0, nil
		case len(args) == 0:
			return listDrills(c, *asJSON)
		}
		chosen, err := chosenDrills(args)
		if err != nil {
			return 2, err
		}
		return playDrills(c, chosen, *asJSON)
	}
	return cmd
}

func listDrills(c *command.Console, asJSON bool) (int, error) {
	type row struct {
		Drill string `json:"drill"`
		Title string `json:"title"`
	}
	var rows []row
	for _, d := range drill.All() {
		rows = append(rows, row{d.Name, d.Title})
		if !asJSON {
			fmt.Fprintf(c.Out, "%-18s %s\n", d.Name, command.Wrap(d.Title, 19, 80))
		}
	}
	if !asJSON {
		return 0, nil
	}
	return 0, c.JSON(rows)
}

// DrillNames are the drills that there are.
func DrillNames() (names []string) {
	for _, d := range drill.All() {
		names = append(names, d.Name)
	}
	return names
}

func chosenDrills(names []string) ([]*drill.Drill, error) {
	if slices.Equal(names, []string{"all"}) {
		return drill.All(), nil
	}
	var out []*drill.Drill
	for _, n := range names {
		d := drill.Find(n)
		if d == nil {
			return nil, fault.New(fault.Usage, "`ringfence drill` lists them", "there is no drill %q", n)
		}
		out = append(out, d)
	}
	return out, nil
}

// playDrills plays one after another; each has a sandbox of its own.
func playDrills(c *command.Console, chosen []*drill.Drill, asJSON bool) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 2, err
	}
	p, err := supervisor.Promised(c.Environ, nil)
	if err != nil {
		return 2, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	conf := drill.Config{Self: self, Home: p.Home, State: p.State, Environ: c.Environ, Bare: os.Geteuid() == 0, Launch: func(ctx context.Context, job drill.Job) (*drill.Seen, error) { return drillIn(ctx, c, job) }}
	status, reports := 0, []drill.Report{}
	for i, d := range chosen {
		step, done := c.Progress("drill "+d.Name, len(chosen))
		step(i + 1)
		r, err := drill.Run(ctx, conf, d)
		done()
		if err != nil {
			return 2, fmt.Errorf("drill %s: %w", d.Name, err)
		}
		if !r.Held {
			status = 1
		}
		reports = append(reports, r)
		if asJSON {
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		if err := c.Verdicts(r.Table); err != nil {
			return 2, err
		}
	}
	if asJSON {
		if err := c.JSON(reports); err != nil {
			return 2, err
		}
	}
	return status, nil
}

// drillIn is a launch like any other: the user's policy, the same walls.
func drillIn(ctx context.Context, c *command.Console, job drill.Job) (*drill.Seen, error) {
	opt := launch.Options{Agent: agent.Command, Args: job.Argv, Dir: job.Workspace, Workspaces: []string{job.Workspace},
		Flags: &policy.Policy{}, Environ: job.Environ}
	if !slices.ContainsFunc(plan.SystemPaths(), func(p string) bool { return file.Within(job.Self, p) }) {
		opt.Binds = []plan.Mount{{Src: job.Self, Dst: job.Self, Why: "drill"}}
	}
	s, err := session.Prepare(opt)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	seen := &drill.Seen{Promise: promise(s, job)}
	stdin, err := job.Ready(seen.Promise)
	if err != nil {
		return nil, err
	}
	res, out, err := rules.Play(ctx, c, s, stdin)
	if err != nil {
		return nil, err
	}
	if seen.Stdout = out; res.Review == nil {
		return nil, errors.New("the session left no review")
	}
	for _, e := range res.Review.Entries {
		seen.Changes = append(seen.Changes, drill.Change{Path: e.Path, Waits: e.State == review.Waits, Runs: e.Rank <= hostexec.Asked})
	}
	for _, l := range res.Net {
		seen.Net = append(seen.Net, drill.Line{Host: l.Host, Passed: l.Conns > 0 || l.Requests > 0 || l.Sent > 0, Denied: l.Denied})
	}
	seen.Undo = func() ([]string, error) { return undone(res.Review.Work) }
	return seen, nil
}

// undone takes back what a session did, and returns what is left of it.
func undone(w *review.Work) (left []string, err error) {
	all, err := w.UndoAll(nil, false)
	for _, o := range all {
		if o.Failed() {
			left = append(left, fmt.Sprintf("%s: %s: %s", o.Path, o.Result, o.Why))
		}
	}
	return left, err
}

// promise is what policy gives the session of a drill.
func promise(s *session.Session, job drill.Job) drill.Promise {
	p := drill.Promise{View: s.View(s.Workspaces[0]), Open: func(host string, port uint16) (string, bool) { return reachable(s.Reach, host, port) }}
	written := func(dst, src string) {
		own := slices.ContainsFunc(job.Own, func(dir string) bool { return file.Within(src, dir) })
		if !own && (file.Within(dst, s.User.Home) || file.Within(s.User.Home, dst)) {
			p.Written = append(p.Written, plan.Show(src))
		}
	}
	for _, o := range s.Plan.Ops {
		if o.Do == plan.DoBind && o.Write {
			written(string(o.Dst), string(o.Src))
		}
	}
	for _, t := range s.Plan.Trees {
		written(string(t.Path), string(t.Path))
	}
	return p
}

// reachable says what of a policy lets a host be reached that leads nowhere. In the
// mode internet nothing of it is tried: names that are kept for tests are shut there,
// and a thief's is not.
func reachable(r policy.Reach, host string, port uint16) (string, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		for _, d := range r.IP {
			if d.Prefix.Covers(a, port) {
				return fmt.Sprintf("%s allows %s", d.Source, d.Text), true
			}
		}
		return "", false
	}
	if policy.Wide(r.Mode) {
		return "the mode " + r.Mode + " allows every public host", true
	}
	for _, e := range r.Allow {
		if _, on := e.Rule.On(port); on && e.Rule.Covers(address.Name(host)) {
			return fmt.Sprintf("%s allows %s", e.Source, e.Text), true
		}
	}
	return "", false
}
