package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// status says how strongly a session is fenced.
func statusCommand() *command {
	cmd := &command{name: "status", args: "[SESSION] [--json | --line]", short: "show how strongly a session is fenced",
		long:     "Says how strongly a running session is fenced: the rung and its walls, the network,\nwhat was granted, and what was denied last. Without SESSION the one in this directory,\nor the only one. Inside a sandbox the same line is in " + session.StatusPath + ".",
		examples: []string{"ringfence status demo", "ringfence status demo --line"},
		takes:    takesOne}
	f := &cmd.flags
	asJSON := f.Bool("json", false, "print everything about it as JSON: also its plan, and the names of its variables and credentials")
	line := f.Bool("line", false, "print one line, as for a prompt; says so when nothing is fenced, and exits with 1")
	cmd.run = func(c *console, args []string) (int, error) {
		id := first(args)
		if *asJSON && *line {
			return 2, fault.New(fault.Usage, "leave one of them out", "--json and --line contradict each other")
		}
		if *line && id == "" { // a prompt is about where it stands, not about another project
			return c.statusLine(c.sessionHere())
		}
		if *asJSON {
			return c.statusJSON(id)
		}
		s, err := c.statusOf(id)
		if *line {
			return c.statusLine(s)
		}
		if err != nil {
			return 1, err
		}
		return 0, c.showStatus(s)
	}
	return cmd
}

// statusOf asks the session that is meant.
func (c *console) statusOf(arg string) (*control.Status, error) {
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

// statusJSON prints everything about a session: how it does, its plan and walls, the names
// of its variables and credentials, or what is left of one that has ended. Values of
// secrets are not in it.
func (c *console) statusJSON(arg string) (int, error) {
	s, err := c.statusOf(arg)
	if err != nil {
		w, werr := c.findWork(arg)
		if arg == "" || werr != nil {
			return 1, err
		}
		return 0, c.writeJSON(struct {
			listed
			Trees []review.Tree `json:"trees"`
			Work  string        `json:"work"`
		}{ended(w), w.Trees, w.Dir()})
	}
	r, err := control.Ask(s.Session, control.Request{Do: "inspect"})
	if err != nil {
		return 1, err
	}
	var all, own map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(r.Inspect, &all), json.Unmarshal(all["status"], &own)); err != nil {
		return 2, err
	}
	delete(all, "status")
	all["work"] = all["state"]
	all["state"] = json.RawMessage(`"` + stateRunning + `"`)
	if s.Frozen {
		all["state"] = json.RawMessage(`"` + stateFrozen + `"`)
	}
	maps.Copy(all, own)
	return 0, c.writeJSON(all)
}

// sessionHere is the latest session in this directory's workspace.
func (c *console) sessionHere() (here *control.Status) {
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

func (c *console) statusLine(s *control.Status) (int, error) {
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

func (c *console) showStatus(s *control.Status) error {
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
