package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/control"
)

// status says how strongly a session is fenced.
func status(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[SESSION] [--json | --line]", "Says how strongly a running session is fenced: the rung and its walls, the network,\nwhat was granted, and what was denied last. Without SESSION the one in this directory,\nor the only one. Inside a sandbox the same line is in "+session.StatusPath+".")
	asJSON := f.Bool("json", false, "print JSON")
	line := f.Bool("line", false, "print one line, as for a prompt; says so when nothing is fenced, and exits with 1")
	id, err := c.sessionThenFlags(f, args)
	if err != nil {
		return 2, err
	}
	if *asJSON && *line {
		return 2, fault.New(fault.Usage, "leave one of them out", "--json and --line contradict each other")
	}
	if *line && id == "" { // a prompt is about where it stands, not about another project
		return c.statusLine(c.sessionHere())
	}
	s, err := c.statusOf(id)
	if *line {
		return c.statusLine(s)
	}
	if err != nil {
		return 1, err
	}
	if *asJSON {
		return 0, c.writeJSON(listed{Status: s, State: stateRunning})
	}
	return 0, c.showStatus(s)
}

// statusOf asks the session that is meant.
func (c *context) statusOf(arg string) (*control.Status, error) {
	if arg == "" {
		if s := c.sessionHere(); s != nil {
			return s, nil
		}
	}
	id, err := c.findRunning(arg)
	if err != nil {
		return nil, err
	}
	r, err := control.Ask(id, control.Request{Do: "status"})
	if err != nil {
		return nil, err
	}
	return r.Status, nil
}

// sessionHere is the latest session in this directory's workspace.
func (c *context) sessionHere() (here *control.Status) {
	dir, err := canonicalHere()
	if err != nil {
		return nil
	}
	list, err := c.sessions(false, false)
	if err != nil {
		return nil
	}
	for _, s := range list {
		if dir == s.Dir || strings.HasPrefix(dir, s.Dir+"/") {
			return s.Status
		}
	}
	return nil
}

func (c *context) statusLine(s *control.Status) (int, error) {
	if s == nil {
		fmt.Fprintln(c.out, "not fenced")
		return 1, nil
	}
	if s.Stopped {
		fmt.Fprintln(c.out, "fenced · stopped")
		return 0, nil
	}
	text := fmt.Sprintf("fenced · %s %s · %d/%d walls · net %s", s.Rung, s.Level, len(s.Walls), s.Of, s.Mode)
	if s.Denial != nil {
		text += fmt.Sprintf(" · denied %d, last %s", s.Denied, plan.Show(s.Denial.What))
	}
	fmt.Fprintln(c.out, inert(text))
	return 0, nil
}

func (c *context) showStatus(s *control.Status) error {
	row := func(key, text string) { fmt.Fprintf(c.out, "  %-10s %s\n", key, inert(text)) }
	head := s.Session
	if s.Name != "" {
		head += " " + s.Name
	}
	fmt.Fprintf(c.out, "%s · %s · %s\n", inert(head), inert(s.Agent), map[bool]string{true: c.paint(bad, stateFrozen), false: c.paint(good, stateRunning)}[s.Frozen])
	row("posture", fmt.Sprintf("%s, %s rung, %d of %d walls, since %s", s.Level, s.Rung, len(s.Walls), s.Of, s.Started.Local().Format(time.DateTime)))
	row("workspace", s.View+" "+plan.Show(s.Dir))
	row("network", s.Mode)
	for _, g := range s.Grants {
		row("granted", plan.Show(g.Rule)+" "+until(g.Expires))
	}
	if len(s.Pending) > 0 {
		row("waits", fmt.Sprintf("%d hosts: ringfence requests %s", len(s.Pending), s.Session))
	}
	var legs audit.Trifecta
	if json.Unmarshal(s.Meter, &legs) == nil {
		row("trifecta", legs.Line(audit.UTF8(c.getenv)))
	}
	if s.Denial == nil {
		row("denied", "nothing yet")
		return nil
	}
	row("denied", fmt.Sprintf("%d, last at %s: %s", s.Denied, s.Denial.Time.Local().Format(time.TimeOnly), plan.Show(s.Denial.What)))
	if s.Denial.Reason != "" {
		row("", wrapText(s.Denial.Reason, 13, 80))
	}
	row("", "ringfence why --last "+s.Session)
	return nil
}
