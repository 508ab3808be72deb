// Package sessions has the commands about sessions: those that run, what they did, and
// what they changed.
package sessions

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Names are the sessions that run and those of which something is kept.
func Names(c *command.Console) (words []string) {
	if running, err := control.Sessions(); err == nil {
		words = running
	}
	if dirs, err := c.Dirs(); err == nil {
		works, _ := review.List(dirs.State)
		for _, w := range works {
			words = append(words, w.ID, w.Name)
		}
	}
	return words
}

// listed is one session as ps and status tell of it.
type listed struct {
	*control.Status
	State string     `json:"state"` // running, frozen, stopped, ended, killed, record
	Ended *time.Time `json:"ended,omitempty"`
	Exit  *int       `json:"exit,omitempty"`
	Bare  bool       `json:"only_record,omitempty"` // nothing but its record is left
}

// The states.
const (
	stateRunning = "running"
	stateFrozen  = "frozen"
	stateCut     = "cut"     // its link is lost
	stateStopped = "stopped" // by Ctrl-Z, or by its agent
	stateEnded   = "ended"
	stateKilled  = "killed"
)

// PS lists sessions.
func PS() *command.Command {
	cmd := &command.Command{Name: "ps", Args: "[-a] [-q] [--memory] [--json]", Short: "list sessions",
		Long:     "Lists the sessions that run. With -a also those that have ended: of some only a record\nis kept, of others what waits for review, could be undone, or was printed.",
		Examples: []string{"ringfence ps", "ringfence ps -a --json"}}
	f := &cmd.Flags
	all := f.Bool("a", false, "also sessions that have ended, and those that were killed")
	quiet := f.Bool("q", false, "print ids only")
	memory := f.Bool("memory", false, "also how much memory each takes, shared pages by their share; slow with many")
	asJSON := f.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		list, err := list(c, *all, *memory)
		if err != nil {
			return 2, err
		}
		switch {
		case *asJSON:
			return 0, c.JSON(list)
		case *quiet:
			for _, s := range list {
				fmt.Fprintln(c.Out, s.Session)
			}
			return 0, nil
		case len(list) == 0:
			c.Say("no session is running")
			return 0, nil
		}
		return 0, showSessions(c, list, *memory)
	}
	return cmd
}

func showSessions(c *command.Console, list []listed, memory bool) error {
	published := slices.ContainsFunc(list, func(s listed) bool { return len(s.Published) > 0 })
	head := []string{"SESSION", "NAME", "AGENT", "STATE", "SINCE", "RUNG", "NETWORK"}
	extra := func(row []string, at bool, text string) []string {
		if !at {
			return row
		}
		return append(row, text)
	}
	head = append(extra(extra(head, published, "PORTS"), memory, "MEMORY"), "WORKSPACE")
	var rows [][]string
	for _, s := range list {
		row := []string{s.Session, s.Name, s.Agent, stateWord(c, s), ago(s.Started), s.Rung, s.Mode}
		row = extra(extra(row, published, ports(s.Published)), memory, fmt.Sprintf("%d KiB", s.Memory>>10))
		rows = append(rows, append(row, plan.Show(s.Dir)))
	}
	return c.Table(head, rows)
}

// ports are those of the host at which servers inside are reached.
func ports(published []control.Server) string {
	var out []string
	for _, p := range published {
		text := fmt.Sprint(p.Published)
		if p.Published != p.Port {
			text += fmt.Sprintf("→%d", p.Port)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// stateWord is the word for people.
func stateWord(c *command.Console, s listed) string {
	switch {
	case s.State == stateEnded && s.Exit != nil:
		return fmt.Sprintf("%s (%d)", s.State, *s.Exit)
	case s.State == stateRunning && s.Attached:
		return c.Paint(command.Good, "attached")
	case s.State == stateRunning && s.Kept:
		return c.Paint(command.Good, "kept")
	case s.State == stateRunning:
		return c.Paint(command.Good, stateRunning)
	case s.State == stateFrozen, s.State == stateCut, s.State == stateStopped, s.State == stateKilled:
		return c.Paint(command.Bad, s.State)
	}
	return s.State
}

// ago is a time for people.
func ago(t time.Time) string {
	d := time.Since(t)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// list lists those that run, and if all is asked for those that ended.
func list(c *command.Console, all, memory bool) ([]listed, error) {
	list := []listed{}
	ids, err := control.Sessions()
	if err != nil {
		return nil, err
	}
	for _, s := range statuses(ids, memory) {
		l := listed{Status: s, State: stateOf(s)}
		if s.Stopped {
			l = stopped(c, s)
		}
		list = append(list, l)
	}
	if all {
		works, err := works(c)
		if err != nil {
			return nil, err
		}
		// One that has a socket and no answer is just dying: it is told of by what it left.
		for _, w := range works {
			if !slices.ContainsFunc(list, func(l listed) bool { return l.Session == w.ID }) {
				list = append(list, ended(w))
			}
		}
		list = append(list, records(c, list)...)
	}
	slices.SortStableFunc(list, func(a, b listed) int { return b.Started.Compare(a.Started) })
	return list, nil
}

// records tells of sessions of which only the record is left, but for those that somebody
// removed.
func records(c *command.Console, known []listed) (out []listed) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil
	}
	all, err := journal.List(dirs.Journal())
	if err != nil {
		c.Warn(err.Error())
	}
	for _, i := range all {
		if slices.ContainsFunc(known, func(l listed) bool { return l.Session == i.Session }) {
			continue
		}
		l := listed{Status: &control.Status{Session: i.Session, Name: i.Name, Agent: i.Agent, Dir: i.Dir, Started: i.Start}, State: stateEnded, Bare: true, Ended: &i.Mod}
		last, err := journal.Last(dirs.Journal(), i.Session, func(r journal.Record) bool { return r.Event == journal.Exit || r.Event == journal.Forgotten })
		switch {
		case i.Running: // in another network namespace, where we cannot ask
			l.State, l.Bare, l.Ended = stateRunning, false, nil
		case err == nil && last.Event == journal.Forgotten:
			continue
		case err == nil:
			l.Exit = &last.Code
		}
		out = append(out, l)
	}
	return out
}

// stopped tells of a session that answers nobody by what it has written down.
func stopped(c *command.Console, s *control.Status) listed {
	works, _ := works(c)
	for _, w := range works {
		// One that is stopped is asked for by the name it listens at, which may be its id.
		if w.ID == s.Session || w.Name == s.Session && w.Running() {
			l := ended(w)
			l.State, l.Stopped, l.Ended = stateStopped, true, nil
			return l
		}
	}
	return listed{Status: s, State: stateStopped}
}

// statuses asks many sessions at once. One that ends meanwhile is left out.
func statuses(ids []string, memory bool) []*control.Status {
	got := make([]*control.Status, len(ids))
	var asks sync.WaitGroup
	for i, id := range ids {
		asks.Go(func() {
			r, err := control.Ask(id, control.Request{Do: "status", Memory: memory})
			switch {
			case err == nil:
				got[i] = r.Status
			case errors.Is(err, control.ErrStopped), errors.Is(err, os.ErrDeadlineExceeded): // it is there and answers nobody
				got[i] = &control.Status{Session: id, Stopped: true}
			}
		})
	}
	asks.Wait()
	return slices.DeleteFunc(got, func(s *control.Status) bool { return s == nil })
}

// ended tells of a session by what it left.
func ended(w *review.Work) listed {
	s := listed{Status: &control.Status{Session: w.ID, Name: w.Name, Agent: w.Agent, Dir: w.Project, Started: w.Started, Kept: w.Stays}, State: stateEnded, Exit: w.Exit}
	if len(w.Trees) > 0 {
		s.Dir, s.View = w.Trees[0].Path, string(w.Trees[0].View)
	}
	if w.Ended.IsZero() {
		s.State = stateKilled
		if w.Running() { // in another network namespace, where we cannot ask
			s.State = stateRunning
		}
		return s
	}
	s.Ended = &w.Ended
	return s
}

// findRunning returns the id of the running session that an argument names: its id or
// the beginning of it, or its name. Without one it is the only session there is.
func findRunning(arg string) (string, error) {
	ids, err := control.Sessions()
	if err != nil {
		return "", err
	}
	if arg == "" {
		ours := statuses(ids, false) // another user can occupy names of this form
		switch len(ours) {
		case 0:
			return "", fault.New(fault.Failed, "start one with `ringfence run` or an agent", "no session is running")
		case 1:
			return ours[0].Session, nil
		}
		return "", fault.New(fault.Usage, "see `ringfence ps`", "%d sessions are running: say which", len(ours))
	}
	if slices.Contains(ids, arg) {
		return arg, nil
	}
	if session := nameOf(arg); session != "" {
		return session, nil
	}
	found := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return len(arg) < shortest || !strings.HasPrefix(id, arg) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fault.New(fault.Failed, "see `ringfence ps -a`", "no session %q is running", arg)
	}
	return "", fault.New(fault.Usage, "give more of its id", "%q is the beginning of %d sessions: %s", arg, len(found), strings.Join(found, ", "))
}

// nameOf asks whoever has a name for its id.
func nameOf(name string) string {
	r, err := control.Ask(name, control.Request{Do: "status"})
	if errors.Is(err, control.ErrStopped) {
		return name // which is as good: it listens there too
	}
	if err != nil || r.Status == nil || r.Status.Name != name {
		return ""
	}
	return r.Status.Session
}
