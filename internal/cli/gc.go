package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/plan"
	"ringfence.dev/ringfence/internal/run"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/terminal"
	"ringfence.dev/ringfence/internal/workspace"
)

// Records of sessions are kept for a month, and the newest in any case.
const (
	keepJournals   = 30 * 24 * time.Hour
	newestJournals = 50
)

func (c *context) dirs() (session.Dirs, error) {
	return session.XDG(c.getenv, c.getenv("HOME"))
}

// gc shows stale project state and removes it when told.
func gc(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[flags]", "Removes the kept state of projects that are gone or long unused, and what old sessions\nkept for undo, after showing it. Sessions in which changes wait are kept.")
	days := f.Int("days", 0, "also what was not used for `N` days; sessions: after N days, not 14")
	yes := f.Bool("yes", false, "remove without asking")
	discard := f.Bool("discard", false, "also old sessions in which changes wait")
	asJSON := f.Bool("json", false, "print JSON; removes only with --yes")
	if err := c.parseAll(f, args); err != nil {
		return 2, err
	}
	if *days < 0 {
		return 2, fault.New(fault.Usage, "", "--days %d is negative", *days)
	}
	// What killed sessions left in workspaces is no matter of age, nor of asking.
	if dirs, err := c.dirs(); err == nil {
		if err := workspace.Sweep(dirs.State); err != nil {
			fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(err.Error()))
		}
	}
	r, err := c.findRubbish(time.Duration(*days)*24*time.Hour, *discard)
	if err != nil {
		return 2, err
	}
	if err := c.showRubbish(r, *asJSON); err != nil {
		return 2, err
	}
	if r.count() == 0 || !*yes && !c.confirm(r.question(), *asJSON) {
		return 0, nil
	}
	if err := r.remove(*discard); err != nil {
		return 1, err
	}
	fmt.Fprintf(c.err, "ringfence: removed %d\n", r.count())
	return 0, nil
}

// rubbish is what gc may remove.
type rubbish struct {
	dirs     session.Dirs
	projects []session.Stale
	records  []string // of what gates decided
	works    []oldWork
	age      time.Duration // of records
}

func (c *context) findRubbish(age time.Duration, discard bool) (*rubbish, error) {
	dirs, err := c.dirs()
	if err != nil {
		return nil, err
	}
	r := &rubbish{dirs: dirs, age: max(age, keepJournals)}
	now := time.Now()
	if r.projects, err = dirs.GC(now, age); err != nil {
		return nil, err
	}
	if r.records, err = journal.Sweep(run.JournalDir(dirs), now, r.age, newestJournals); err != nil {
		return nil, err
	}
	r.works, err = c.oldWorks(now, age, discard)
	return r, err
}

func (r *rubbish) count() int { return len(r.projects) + len(r.records) + len(removable(r.works)) }

func (r *rubbish) question() string {
	return fmt.Sprintf("Remove the state of %d project(s), %d record(s) and the work of %d session(s)?", len(r.projects), len(r.records), len(removable(r.works)))
}

func (r *rubbish) remove(discard bool) error {
	for _, s := range r.projects {
		if err := r.dirs.Remove(s); err != nil {
			return err
		}
	}
	for _, id := range r.records {
		if err := journal.Remove(run.JournalDir(r.dirs), id); err != nil {
			return err
		}
	}
	for _, o := range removable(r.works) {
		if err := forget(o.work, discard); err != nil {
			return err
		}
	}
	return nil
}

func (c *context) showRubbish(r *rubbish, asJSON bool) error {
	if asJSON {
		rows := []map[string]any{}
		for _, s := range r.projects {
			rows = append(rows, map[string]any{"key": s.Key, "root": plan.Raw(s.Root), "why": s.Why, "last_used": s.LastUsed, "size": s.Size})
		}
		for _, o := range r.works {
			rows = append(rows, o.row())
		}
		if err := json.NewEncoder(c.out).Encode(rows); err != nil {
			return err
		}
	} else {
		for _, s := range r.projects {
			fmt.Fprintf(c.out, "%s  %-12s  %s  %8.1f MiB  %s\n", s.Key, s.Why, s.LastUsed.Format("2006-01-02"), float64(s.Size)/(1<<20), plan.Show(s.Root))
		}
		c.showWorks(r.works)
	}
	if len(r.records) > 0 {
		fmt.Fprintf(c.err, "ringfence: %d records of sessions are older than %d days\n", len(r.records), int(r.age.Hours()/24))
	}
	if len(r.projects)+len(r.works) == 0 && !asJSON {
		fmt.Fprintln(c.err, "ringfence: nothing is stale")
	}
	return nil
}

// confirm asks a person; without one the answer is no.
func (c *context) confirm(question string, never bool) bool {
	if never || !terminal.IsTerminal(c.in) || !terminal.IsTerminal(c.err) {
		fmt.Fprintln(c.err, "ringfence: nothing was changed; --yes does it without asking")
		return false
	}
	fmt.Fprintf(c.err, "%s [y/N] ", question)
	line, _ := bufio.NewReader(c.in).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "y")
}
