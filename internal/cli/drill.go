package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/audit/drill"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/supervisor"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// drillCommand plays known incidents under the user's policy.
func drillCommand() *command {
	cmd := &command{name: "drill", args: "[DRILL... | all] [--json]", short: "play known incidents under your policy, in a throw-away workspace", takes: takesMany,
		examples: []string{"ringfence drill", "ringfence drill all"},
		long:     "Plays known incidents with canaries, in a throw-away workspace under your own policy, and\nsays of each step which wall held. Nothing of yours is touched. Without a name it\nlists the drills. Exit 0: all held, 1: a wall did not hold,\n2: not played."}
	asJSON := cmd.flags.Bool("json", false, "print JSON")
	cmd.run = func(c *console, args []string) (int, error) {
		switch {
		case slices.Equal(args, []string{drill.Arg}):
			if err := drill.Main(c.in, c.out, session.Nested()); err != nil {
				return 2, err
			}
			return 0, nil
		case len(args) == 0:
			return c.listDrills(*asJSON)
		}
		chosen, err := chosenDrills(args)
		if err != nil {
			return 2, err
		}
		return c.playDrills(chosen, *asJSON)
	}
	return cmd
}

func (c *console) listDrills(asJSON bool) (int, error) {
	type row struct {
		Drill string `json:"drill"`
		Title string `json:"title"`
	}
	var rows []row
	for _, d := range drill.All() {
		rows = append(rows, row{d.Name, d.Title})
		if !asJSON {
			fmt.Fprintf(c.out, "%-18s %s\n", d.Name, wrapText(d.Title, 19, 80))
		}
	}
	if !asJSON {
		return 0, nil
	}
	return 0, c.writeJSON(rows)
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
func (c *console) playDrills(chosen []*drill.Drill, asJSON bool) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 2, err
	}
	p, err := supervisor.Promised(c.environ)
	if err != nil {
		return 2, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	conf := drill.Config{Self: self, Home: p.Home, State: p.State, Environ: c.environ, Bare: os.Geteuid() == 0, Launch: c.drillIn}
	status, reports := 0, []drill.Report{}
	for i, d := range chosen {
		step, done := c.progress("drill "+d.Name, len(chosen))
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
			fmt.Fprintln(c.out)
		}
		if err := c.verdicts(r.Table); err != nil {
			return 2, err
		}
	}
	if asJSON {
		if err := c.writeJSON(reports); err != nil {
			return 2, err
		}
	}
	return status, nil
}

// drillIn is a launch like any other: the user's policy, the same walls.
func (c *console) drillIn(ctx context.Context, job drill.Job) (*drill.Seen, error) {
	opt := session.Options{Agent: agent.Command, Args: job.Argv, Dir: job.Workspace, Workspaces: []string{job.Workspace},
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
	res, out, err := c.play(ctx, s, stdin)
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
		seen.Net = append(seen.Net, drill.Line{Host: l.Host, Passed: l.Conns > 0 || l.Sent > 0, Denied: l.Denied})
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

// play starts the session between two pipes.
func (c *console) play(ctx context.Context, s *session.Session, stdin []byte) (res supervisor.Result, out []byte, err error) {
	var pipes [2][2]*os.File // what goes in, what comes out
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			return res, nil, err
		}
		defer pipes[i][0].Close()
		defer pipes[i][1].Close()
	}
	go func() {
		pipes[0][1].Write(stdin)
		pipes[0][1].Close()
	}()
	read := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(pipes[1][0], drill.MaxPlay))
		io.Copy(io.Discard, pipes[1][0]) // who writes more must not wait for us
		read <- b
	}()
	res, err = supervisor.Start(ctx, s, [3]*os.File{pipes[0][0], pipes[1][1], c.err}, supervisor.Talk{
		Before: func(cgroup.Report) error { return ctx.Err() },
		Warn:   func(text string) { fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(text)) }})
	pipes[1][1].Close()
	return res, <-read, err
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
	if r.Mode == "internet" {
		return "the mode internet allows every public host", true
	}
	for _, e := range r.Allow {
		if _, on := e.Rule.On(port); on && e.Rule.Covers(address.Name(host)) {
			return fmt.Sprintf("%s allows %s", e.Source, e.Text), true
		}
	}
	return "", false
}
