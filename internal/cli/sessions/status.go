package sessions

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Status says how strongly a session is fenced.
func Status() *command.Command {
	cmd := &command.Command{Name: "status", Args: "[SESSION] [--json | --line]", Short: "show how strongly a session is fenced",
		Long:     "Says how strongly a running session is fenced: the rung and its walls, the network,\nwhat was granted, and what was denied last. Without SESSION the one in this directory,\nor the only one. Inside a sandbox the same line is in " + launch.StatusPath + ".",
		Examples: []string{"ringfence status demo", "ringfence status demo --line"},
		Takes:    command.One}
	f := &cmd.Flags
	asJSON := f.Bool("json", false, "print everything about it as JSON: also its plan, and the names of its variables and credentials")
	line := f.Bool("line", false, "print one line, as for a prompt; says so when nothing is fenced, and exits with 1")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		id := command.First(args)
		if *asJSON && *line {
			return 2, fault.New(fault.Usage, "leave one of them out", "--json and --line contradict each other")
		}
		if *line && id == "" { // a prompt is about where it stands, not about another project
			return statusLine(c, sessionHere(c))
		}
		if *asJSON {
			return statusJSON(c, id)
		}
		s, err := statusOf(c, id)
		if *line {
			return statusLine(c, s)
		}
		if err != nil {
			return 1, err
		}
		if s.Stopped {
			return 0, showStatus(c, s)
		}
		if all, err := control.Ask(s.Session, control.Request{Do: "status", Card: true}); err == nil {
			s = all.Status
		}
		return 0, showStatus(c, s)
	}
	return cmd
}

// statusOf asks the session that is meant.
func statusOf(c *command.Console, arg string) (*control.Status, error) {
	if arg == "" {
		if s := sessionHere(c); s != nil {
			return s, nil
		}
	}
	id, err := findRunning(arg)
	if err != nil {
		return nil, err
	}
	r, err := control.Ask(id, control.Request{Do: "status"})
	if errors.Is(err, control.ErrStopped) {
		return stopped(c, &control.Status{Session: id, Stopped: true}).Status, nil
	}
	if err != nil {
		return nil, err
	}
	return r.Status, nil
}

// statusJSON prints everything about a session: how it does, its plan and walls, the names
// of its variables and credentials, or what is left of one that has ended. Values of
// secrets are not in it.
func statusJSON(c *command.Console, arg string) (int, error) {
	s, err := statusOf(c, arg)
	if err != nil {
		w, werr := findWork(c, arg)
		if arg == "" || werr != nil {
			return 1, err
		}
		return 0, c.JSON(struct {
			listed
			Trees []review.Tree `json:"trees"`
			Work  string        `json:"work"`
		}{ended(w), w.Trees, w.Dir()})
	}
	if s.Stopped {
		return 0, c.JSON(stopped(c, s))
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
	all["state"] = json.RawMessage(`"` + stateOf(s) + `"`)
	maps.Copy(all, own)
	return 0, c.JSON(all)
}

// sessionHere is the latest session in this directory's workspace.
func sessionHere(c *command.Console) (here *control.Status) {
	dir, err := canonicalHere()
	if err != nil {
		return nil
	}
	list, err := list(c, false, false)
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

func statusLine(c *command.Console, s *control.Status) (int, error) {
	if s == nil {
		fmt.Fprintln(c.Out, "not fenced")
		return 1, nil
	}
	if s.Stopped {
		fmt.Fprintln(c.Out, "fenced · stopped")
		return 0, nil
	}
	text := fmt.Sprintf("fenced · %s %s · %d/%d walls · net %s", s.Rung, s.Level, len(s.Walls), s.Of, s.Mode)
	if s.Denial != nil {
		text += fmt.Sprintf(" · denied %d, last %s", s.Denied, plan.Show(s.Denial.What))
	}
	fmt.Fprintln(c.Out, command.Inert(text))
	return 0, nil
}

// stateOf is the state of a session that is there.
func stateOf(s *control.Status) string {
	switch {
	case s.Stopped:
		return stateStopped
	case s.Frozen:
		return stateFrozen
	case s.Cut:
		return stateCut
	}
	return stateRunning
}

// WriteRow prints one line of a card.
func WriteRow(w io.Writer, r control.Row) {
	text := command.Inert(r.Text)
	if r.List {
		text = command.Wrap(text, 13, 80)
	}
	fmt.Fprintf(w, "  %-10s %s\n", r.Key, text)
}

func showStatus(c *command.Console, s *control.Status) error {
	row := func(key, text string) { WriteRow(c.Out, control.Row{Key: key, Text: text}) }
	head := s.Session
	if s.Name != "" {
		head += " " + s.Name
	}
	fmt.Fprintf(c.Out, "%s · %s · %s\n", command.Inert(head), command.Inert(s.Agent), stateWord(c, listed{Status: s, State: stateOf(s)}))
	if s.Stopped {
		row("workspace", strings.TrimSpace(s.View+" "+plan.Show(s.Dir)))
		row("next", "fg where it was started, or ringfence stop "+s.Session)
		return nil
	}
	on := s.Rung + " rung"
	if s.Less != "" {
		on += " " + s.Less
	}
	row("posture", fmt.Sprintf("%s, %s, %d of %d walls, since %s", s.Level, on, len(s.Walls), s.Of, s.Started.Local().Format(time.DateTime)))
	network := s.Mode
	if s.Began != "" {
		network += ", tightened: it began in " + s.Began
	}
	row("network", network)
	for _, r := range s.Card {
		if r.Key != "walls" { // which the posture has
			WriteRow(c.Out, r)
		}
	}
	if len(s.Tools) > 0 {
		WriteRow(c.Out, control.Row{Key: "tools", Text: strings.Join(s.Tools, ", "), List: true})
	}
	for _, g := range s.Grants {
		row("granted", plan.Show(g.Rule)+" "+until(g.Expires))
	}
	for _, r := range s.Revoked {
		row("taken back", plan.Show(r))
	}
	if len(s.Pending) > 0 {
		row("waits", fmt.Sprintf("%d host%s: ringfence requests %s", len(s.Pending), command.Plural(len(s.Pending), "", "s"), s.Session))
	}
	if s.Denial == nil {
		row("denied", "nothing yet")
		return nil
	}
	row("denied", fmt.Sprintf("%d, last at %s: %s", s.Denied, s.Denial.Time.Local().Format(time.TimeOnly), plan.Show(s.Denial.What)))
	if s.Denial.Reason != "" {
		WriteRow(c.Out, control.Row{Text: s.Denial.Reason, List: true})
	}
	row("", "ringfence why --last "+s.Session)
	return nil
}
