package checks

import (
	"context"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// offered is a rung as this machine has it.
type offered struct {
	Name    string             `json:"name"`
	Less    string             `json:"less,omitempty"` // than the rung has where nobody asks for another
	State   string             `json:"state"`          // ready, degraded, not here
	Level   string             `json:"level"`
	Kernel  string             `json:"kernel"`
	Walls   int                `json:"walls"`
	Of      int                `json:"of"`
	Lacks   map[string]string  `json:"lacks,omitempty"` // walls that nobody raises, and what stands instead
	Views   []plan.View        `json:"views"`
	Witness string             `json:"witness"`
	Adds    string             `json:"adds"`
	Results []hostfacts.Result `json:"results"`
}

// title is its name for people.
func (o offered) title() string {
	if o.Less == "" {
		return o.Name
	}
	return o.Name + ", " + o.Less
}

// The states of a rung, by what hostfacts.Verdict says of its results.
var rungStates = []string{"ready", "degraded", "not here"}

// offers tries every rung but the lowest ones.
func offers(ctx context.Context, environ []string, lowest int) []offered {
	all := []offered{}
	for _, r := range launch.Ladder(environ)[lowest:] {
		o := r.Offer()
		out := offered{Name: r.Name(), Less: o.Less, Level: o.Level, Kernel: o.Kernel, Walls: len(o.Raised()), Of: len(plan.AllWalls()),
			Lacks: map[string]string{}, Views: o.Views, Witness: o.Witness, Adds: o.Adds, Results: r.Try(ctx)}
		out.State = rungStates[hostfacts.Verdict(out.Results)]
		for w, why := range o.Why {
			out.Lacks[string(w)] = why
		}
		all = append(all, out)
	}
	return all
}

// Rungs prints the ladder as this machine has it.
func Rungs() *command.Command {
	cmd := &command.Command{Name: "rungs", Args: "[--levels] [--json]", Short: "show where walls can stand on this host",
		Long:     "Shows every rung of the ladder: whether it can be had here, whose kernel answers the\nagent, which walls stand, and who looks from outside. `--rung NAME` of a launch uses one.",
		Examples: []string{"ringfence rungs", "ringfence rungs --levels", "ringfence rungs --json"}}
	levels := cmd.Flags.Bool("levels", false, "show what each level of the ladder buys and what breaks it, L0 to L5")
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *levels {
			return 0, showLevels(c, *asJSON)
		}
		if launch.Nested() {
			return 2, fault.New(fault.Usage, "run it outside", "this is the inside of a ringfence sandbox: what the host can enforce cannot be seen from here")
		}
		_, done := c.Progress("trying every rung", 0)
		all := offers(context.Background(), c.Environ, 0)
		done()
		if *asJSON {
			return 0, c.JSON(all)
		}
		return 0, showRungs(c, all)
	}
	return cmd
}

// showLevels prints the ladder of boundaries.
func showLevels(c *command.Console, asJSON bool) error {
	if asJSON {
		return c.JSON(audit.Ladder())
	}
	for i, l := range audit.Ladder() {
		if i > 0 {
			fmt.Fprintln(c.Out)
		}
		fmt.Fprintln(c.Out, l.Level+"  "+l.Title)
		for _, row := range [][2]string{{"buys", l.Buys}, {"breaks", l.Breaks}, {"how", l.How}} {
			fmt.Fprintf(c.Out, "    %-8s%s\n", row[0], command.Wrap(row[1], 12, 68))
		}
	}
	return nil
}

var rungStyle = map[string]command.Style{"ready": command.Good, "degraded": command.Notice, "not here": command.Bad}

func showRungs(c *command.Console, all []offered) error {
	var rows [][]string
	for _, o := range all {
		rows = append(rows, []string{o.title(), c.Paint(rungStyle[o.State], o.State), o.Level, fmt.Sprintf("%d of %d", o.Walls, o.Of), views(o.Views), o.Kernel, o.Witness})
	}
	if err := c.Table([]string{"RUNG", "STATE", "LEVEL", "WALLS", "VIEWS", "KERNEL", "WITNESS"}, rows); err != nil {
		return err
	}
	for _, o := range all {
		fmt.Fprintf(c.Out, "\n%s\n", command.Wrap(o.title()+": "+o.Adds, 2, 80))
		for _, w := range plan.AllWalls() {
			if why := o.Lacks[string(w)]; why != "" {
				fmt.Fprintf(c.Out, "  %s\n", command.Wrap("no "+string(w)+": "+why, 4, 80))
			}
		}
		for _, r := range o.Results {
			if r.Status != hostfacts.OK {
				fmt.Fprintf(c.Out, "  %s\n", command.Wrap(r.Name+": "+r.Detail, 4, 80))
			}
			if r.Fix != "" {
				fmt.Fprintf(c.Out, "  %s\n", command.Wrap("fix: "+r.Fix, 4, 80))
			}
		}
	}
	return nil
}

func views(list []plan.View) string {
	var out []string
	for _, v := range list {
		out = append(out, string(v))
	}
	return strings.Join(out, ", ")
}
