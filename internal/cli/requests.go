package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf16"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
)

// requests shows what running sessions wanted and no rule allows.
func requestsCommand() *command {
	cmd := &command{name: "requests", args: "[SESSION] [flags]", short: "show which hosts running sessions want and may not reach",
		long:     "Shows the hosts that running sessions want and no rule allows, with the command that\nwould allow each.",
		examples: []string{"ringfence requests", "ringfence requests demo --json"},
		takes:    takesOne}
	f := &cmd.flags
	asJSON := f.Bool("json", false, "print JSON")
	cmd.run = func(c *console, args []string) (int, error) {
		one := first(args)
		ids, err := control.Sessions()
		if err != nil {
			return 2, err
		}
		if one != "" {
			id, err := c.findRunning(one)
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
				c.explain(fmt.Errorf("%s: %w", id, err))
			}
			if err == nil && r.Status != nil {
				all = append(all, *r.Status)
			}
		}
		if *asJSON {
			return 0, c.writeJSON(all)
		}
		return 0, c.showRequests(all)
	}
	return cmd
}

func (c *console) showRequests(all []control.Status) error {
	if len(all) == 0 {
		fmt.Fprintln(c.err, "ringfence: no session with a network is running")
		return nil
	}
	w := bufio.NewWriter(c.out)
	for _, s := range all {
		fmt.Fprintf(w, "%s  %s  %s  %s\n", s.Session, s.Mode, inert(s.Agent), plan.Show(s.Dir))
		showPending(w, s)
		for _, q := range s.Wishes {
			fmt.Fprintf(w, "  the agent asks for %s %s: %s\n", q.Kind, plan.Show(q.What), strconv.QuoteToGraphic(q.Reason))
			if q.Kind == "host" {
				fmt.Fprintf(w, "    ringfence grant %s --host %s\n", s.Session, plan.Show(q.What))
			}
		}
		for _, g := range s.Grants {
			fmt.Fprintf(w, "  granted %s %s\n", plan.Show(g.Rule), until(g.Expires))
		}
		showServers(w, s.Servers)
		if len(s.Pending)+len(s.Others)+len(s.Wishes)+len(s.Grants)+len(s.Servers) == 0 {
			fmt.Fprintln(w, "  nothing waits")
		}
	}
	return w.Flush()
}

// maxShownServers bounds those that nobody outside can reach: an agent can listen at
// every port there is, and what waits would scroll away.
const maxShownServers = 8

func showServers(w io.Writer, all []control.Server) {
	hidden := 0
	for _, srv := range all {
		switch {
		case srv.Published != 0:
			fmt.Fprintf(w, "  http://localhost:%d → inside:%d\n", srv.Published, srv.Port)
		case hidden < maxShownServers:
			hidden++
			fmt.Fprintf(w, "  inside:%d listens, not published\n", srv.Port)
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

// ascii escapes what a terminal could obey: JSON itself leaves much of it as it is.
func ascii(b []byte) []byte {
	var out []byte
	for _, r := range string(b) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out
}
