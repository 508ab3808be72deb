package cli

import (
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// past is an ended session of a name, as far as another can go on with it.
type past struct {
	journal.Info
	words []string     // for ringfence, to take its conversation up; none: it has none
	work  *review.Work // what it changed and waits; nil: nothing
}

// goOn returns the words that an agent is started with where a session of the same name has
// ended here and a person wants to go on with it. Who cannot be asked starts anew, which
// takes nothing from the ended one, and is told the command.
func goOn(c *command.Console, l *rules.Flags, agentName string, argv []string) []string {
	if l.Name == "" || l.DryRun != "" || len(argv) > 0 {
		return argv
	}
	p := lastOf(c, l.Name, agentName)
	if p == nil {
		return argv
	}
	if p.work != nil {
		c.Say("%s has ended, and its changes wait where this session does not see them:", plan.Show(l.Name))
		c.Say("ringfence diff %s, ringfence apply %[1]s", p.Session)
	}
	if len(p.words) == 0 {
		return argv
	}
	if l.Yes || !l.NoInput && !l.Detach && c.Person() && c.Confirm("A session "+plan.Show(l.Name)+" has ended here. Go on with its conversation?", false) {
		return p.words[1:]
	}
	if !c.Person() || l.NoInput || l.Detach {
		c.Say("a session %s has ended here, and this one begins anew; to go on with that:", plan.Show(l.Name))
		c.Say("ringfence %s --name %s %s", p.words[0], plan.Show(l.Name), strings.Join(p.words[1:], " "))
	}
	return argv
}

// lastOf finds the last session of a name that ended in this directory with this agent, and
// of which something is left.
func lastOf(c *command.Console, name, agentName string) *past {
	dirs, err := c.Dirs()
	if err != nil {
		return nil
	}
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	all, listed := journal.List(dirs.Journal())
	if err != nil || len(all) == 0 || listed != nil && all == nil {
		return nil
	}
	for _, i := range all {
		if i.Name != name || i.Agent != agentName || i.Dir != here {
			continue
		}
		last, err := journal.Last(dirs.Journal(), i.Session, func(r journal.Record) bool { return r.Event == journal.Exit || r.Event == journal.Forgotten })
		if i.Running || err != nil || last.Event == journal.Forgotten {
			continue
		}
		p := &past{Info: i, words: last.List.All()}
		if len(p.words) < 2 || p.words[0] != agentName {
			p.words = nil
		}
		if w, err := review.Open(dirs.State, i.Session); err == nil && waits(w) {
			p.work = w
		}
		if p.words != nil || p.work != nil {
			return p
		}
	}
	return nil
}

// waits holds for work that is not on the host: a review, or a clone.
func waits(w *review.Work) bool {
	if w.Source != "" {
		return true
	}
	r, err := w.Review()
	return err != nil || len(r.Waiting()) > 0
}
