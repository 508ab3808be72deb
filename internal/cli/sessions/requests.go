package sessions

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
)

// Requests shows what running sessions wanted and no rule allows.
func Requests() *command.Command {
	cmd := &command.Command{Name: "requests", Args: "[SESSION] [flags]", Short: "show which hosts running sessions want and may not reach",
		Long:     "Shows the hosts that running sessions want and no rule allows, with the command that\nwould allow each. With --answer you answer here what the session asks at its own terminal.",
		Examples: []string{"ringfence requests", "ringfence requests demo --json"},
		Takes:    command.One}
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	answer := cmd.Flags.Bool("answer", false, "answer the questions of one session, which waits for half a minute with each")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		one := command.First(args)
		if *answer {
			return answerRequests(c, one)
		}
		ids, err := control.Sessions()
		if err != nil {
			return 2, err
		}
		if one != "" {
			id, err := findRunning(one)
			if err != nil {
				return 1, err
			}
			ids = []string{id}
		}
		all := []control.Status{}
		for _, id := range ids {
			r, err := control.Ask(id, control.Request{Do: "status"})
			if err != nil && one != "" {
				return 1, err
			}
			if errors.Is(err, control.ErrStopped) {
				c.Explain(fmt.Errorf("%s: %w", id, err))
			}
			if err == nil && r.Status != nil {
				all = append(all, *r.Status)
			}
		}
		if *asJSON {
			return 0, c.JSON(all)
		}
		return 0, showRequests(c, all)
	}
	return cmd
}

func showRequests(c *command.Console, all []control.Status) error {
	if len(all) == 0 {
		c.Say("no session with a network is running")
		return nil
	}
	w := bufio.NewWriter(c.Out)
	for _, s := range all {
		fmt.Fprintf(w, "%s  %s  %s  %s\n", s.Session, s.Mode, command.Inert(s.Agent), plan.Show(s.Dir))
		showPending(w, s)
		for _, q := range s.Wishes {
			fmt.Fprintf(w, "  the agent asks for %s %s: %s\n", q.Kind, plan.Show(q.What), strconv.QuoteToGraphic(q.Reason))
			if q.Kind == "host" {
				fmt.Fprintf(w, "    ringfence grant %s --host %s\n", s.Session, plan.Show(q.What))
			}
			if q.Kind == "tool" {
				fmt.Fprintf(w, "    in %s: ringfence tools add %s\n", plan.Show(s.Dir), plan.Show(q.What))
			}
		}
		for _, g := range s.Grants {
			fmt.Fprintf(w, "  granted %s %s\n", plan.Show(g.Rule), until(g.Expires))
		}
		showServers(w, s.Session, s.Servers)
		if len(s.Pending)+len(s.Others)+len(s.Wishes)+len(s.Grants)+len(s.Servers) == 0 {
			fmt.Fprintln(w, "  nothing waits")
		}
	}
	return w.Flush()
}

// maxShownServers bounds those that nobody outside can reach: an agent can listen at
// every port there is, and what waits would scroll away.
const maxShownServers = 8

func showServers(w io.Writer, id string, all []control.Server) {
	hidden := 0
	for _, srv := range all {
		switch {
		case srv.Published != 0:
			fmt.Fprintf(w, "  http://localhost:%d → inside:%d\n", srv.Published, srv.Port)
		case hidden < maxShownServers:
			hidden++
			fmt.Fprintf(w, "  inside:%d listens; to open it here: ringfence publish %s %d\n", srv.Port, id, srv.Port)
		default:
			hidden++
		}
	}
	if n := hidden - maxShownServers; n > 0 {
		fmt.Fprintf(w, "  … and %d ports more at which somebody inside listens: ringfence requests --json lists them\n", n)
	}
}

func until(t time.Time) string {
	if t.IsZero() {
		return "for this session"
	}
	return "until " + t.Local().Format(time.TimeOnly)
}
