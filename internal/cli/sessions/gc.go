package sessions

import (
	"fmt"
	"os"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/trees"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// newestJournals are kept in any case.
const newestJournals = 50

// GC shows stale project state and removes it when told.
func GC() *command.Command {
	cmd := &command.Command{Name: "gc", Args: "[flags]", Short: "remove stale state of projects and sessions",
		Long:     "Removes the kept state of projects that are gone or long unused, what old sessions kept\nfor undo, and their records, after showing it. Sessions in which changes wait are kept. The store of\npackages is cut to its bound.",
		Examples: []string{"ringfence gc", "ringfence gc --days 30 --yes"}}
	f := &cmd.Flags
	days := f.Int("days", 0, "also what was not used for `N` days; sessions: after N days, not 14")
	yes := f.Bool("yes", false, "remove without asking")
	discard := f.Bool("discard", false, "also old sessions in which changes wait")
	asJSON := f.Bool("json", false, "print JSON; removes only with --yes")
	packages := f.String("package-size", "", "packages that were not used longest go beyond `SIZE` in all, not 5GiB")
	f.Begin("for records")
	logDays := f.Int("log-days", 0, "records that were not written to for `N` days, not 30")
	logKeep := f.Int("log-keep", newestJournals, "but the newest `N` records in any case")
	logSize := f.String("log-size", "", "and the oldest beyond `SIZE` in all, such as 500MiB, at any age")
	logBad := f.Bool("log-bad", false, "also records that are not what was written, which are kept as evidence otherwise")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *days < 0 || *logDays < 0 || *logKeep < 0 {
			return 2, fault.New(fault.Usage, "", "gc takes no negative number")
		}
		keep, err := retention(max(*days, 30), f.IsSet("log-days"), *logDays, *logKeep, *logSize)
		if err != nil {
			return 2, err
		}
		keep.Bad = *logBad
		// What killed sessions left in workspaces is no matter of age, nor of asking.
		if dirs, err := c.Dirs(); err == nil {
			swept := review.Sweep(dirs.State)
			_, forgot := trees.ForgetSeen(dirs, time.Now(), time.Duration(*days)*24*time.Hour)
			_, settled := journal.SettleAll(dirs.Journal())
			for _, err := range []error{swept, forgot, settled} {
				if err != nil {
					c.Warn(err.Error())
				}
			}
		}
		r, err := findRubbish(c, time.Duration(*days)*24*time.Hour, keep, *discard)
		if err != nil {
			return 2, err
		}
		if err := r.beyond(*packages); err != nil {
			return 2, err
		}
		if err := showRubbish(c, r, *asJSON); err != nil {
			return 2, err
		}
		if r.count() == 0 || !*yes && !c.Confirm(r.question(), *asJSON) {
			return 0, nil
		}
		if err := r.remove(c, *discard); err != nil {
			return 1, err
		}
		c.Say("removed %d", r.count())
		return 0, nil
	}
	return cmd
}

// retention is which records stay.
func retention(days int, set bool, logDays, keep int, size string) (journal.Retention, error) {
	if set {
		days = logDays
	}
	r := journal.Retention{Age: time.Duration(days) * 24 * time.Hour, Keep: keep}
	if size == "" {
		return r, nil
	}
	var err error
	if r.Size, err = policy.ParseSize(size); err != nil || r.Size <= 0 {
		return r, fault.New(fault.Usage, "for example --log-size 500MiB", "--log-size %q is not a size", size)
	}
	return r, nil
}

// rubbish is what gc may remove.
type rubbish struct {
	dirs     state.Dirs
	projects []state.Stale
	records  []string // of what sessions did
	works    []oldWork
	packages []string // files of the store of packages that are beyond its bound
	ready    []string // and what was made of such
	excess   int64    // how much they are
}

func findRubbish(c *command.Console, age time.Duration, keep journal.Retention, discard bool) (*rubbish, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	r := &rubbish{dirs: dirs}
	now := time.Now()
	if r.projects, err = dirs.GC(now, age); err != nil {
		return nil, err
	}
	var bad []string
	if r.records, bad, err = journal.Sweep(dirs.Journal(), now, keep); err != nil {
		return nil, err
	}
	for _, id := range bad {
		c.Say("warning: the record of session %s is not what was written, and is kept: ringfence log verify %s; --log-bad removes it", id, id)
	}
	r.works, err = oldWorks(c, now, age, discard)
	return r, err
}

// beyond finds what the store of packages has beyond its bound.
func (r *rubbish) beyond(size string) error {
	most := int64(store.Most)
	if size != "" {
		var err error
		if most, err = policy.ParseSize(size); err != nil || most < 0 {
			return fault.New(fault.Usage, "for example --package-size 2GiB", "--package-size %q is not a size", size)
		}
	}
	packages, now := store.At(r.dirs.State), time.Now()
	_, _, total, err := packages.Excess(most, now)
	if err != nil {
		return err
	}
	var made, left int64
	r.ready, made, left = ready.Excess(r.dirs.State, most-total, now) // it can be made again
	r.packages, r.excess, _, err = packages.Excess(most-left, now)
	r.excess += made
	return err
}

func (r *rubbish) count() int {
	return len(r.projects) + len(r.records) + len(removable(r.works)) + r.kept()
}

// kept is how many files and directories of packages there are among it.
func (r *rubbish) kept() int { return len(r.packages) + len(r.ready) }

func (r *rubbish) question() string {
	return fmt.Sprintf("Remove the state of %d project(s), %d record(s), the work of %d session(s) and %d file(s) of packages?", len(r.projects), len(r.records), len(removable(r.works)), r.kept())
}

func (r *rubbish) remove(c *command.Console, discard bool) error {
	var all []func() error
	for _, s := range r.projects {
		all = append(all, func() error { return r.dirs.Remove(s) })
	}
	for _, o := range removable(r.works) {
		if o.over {
			all = append(all, o.work.DropUndo)
		} else {
			all = append(all, func() error { return forget(c, "gc", o.work, discard) })
		}
	}
	for _, id := range r.records {
		all = append(all, func() error { return journal.Remove(r.dirs.Journal(), id) })
	}
	for _, path := range r.ready {
		all = append(all, func() error { return ready.Drop(path) })
	}
	for _, path := range r.packages {
		all = append(all, func() error {
			if err := os.Remove(path); !os.IsNotExist(err) {
				return err
			}
			return nil
		})
	}
	step, done := c.Progress("removing", len(all))
	defer done()
	for i, remove := range all {
		if err := remove(); err != nil {
			return err
		}
		step(i + 1)
	}
	return nil
}

func showRubbish(c *command.Console, r *rubbish, asJSON bool) error {
	if asJSON {
		rows := []map[string]any{}
		for _, s := range r.projects {
			rows = append(rows, map[string]any{"key": s.Key, "root": plan.Raw(s.Root), "why": s.Why, "last_used": s.LastUsed, "size": s.Size})
		}
		for _, o := range r.works {
			rows = append(rows, o.row())
		}
		for _, id := range r.records {
			rows = append(rows, map[string]any{"session": id, "why": "record"})
		}
		if r.kept() > 0 {
			rows = append(rows, map[string]any{"why": "packages", "files": r.kept(), "size": r.excess})
		}
		if err := c.JSONLine(rows); err != nil {
			return err
		}
	} else {
		if err := showStale(c, r); err != nil {
			return err
		}
	}
	if len(r.records) > 0 {
		c.Say("%d record%s of sessions can go", len(r.records), command.Plural(len(r.records), "", "s"))
	}
	if n := r.kept(); n > 0 {
		c.Say("%d file%s of packages can go, %.1f MiB", n, command.Plural(n, "", "s"), float64(r.excess)/(1<<20))
	}
	if len(r.projects)+len(r.works)+len(r.records)+r.kept() == 0 && !asJSON {
		c.Say("nothing is stale")
	}
	return nil
}

// showStale lists what is stale, and says what to do about what stays.
func showStale(c *command.Console, r *rubbish) error {
	var rows [][]string
	for _, s := range r.projects {
		rows = append(rows, []string{s.Key, string(s.Why), s.LastUsed.Format("2006-01-02"), fmt.Sprintf("%.1f MiB", float64(s.Size)/(1<<20)), plan.Show(s.Root)})
	}
	for _, o := range r.works {
		rows = append(rows, []string{o.work.ID, o.why, o.last.Format("2006-01-02"), "", plan.Show(o.work.Project)})
	}
	if len(rows) > 0 {
		if err := c.Table([]string{"WHAT", "WHY", "LAST USED", "SIZE", "OF"}, rows); err != nil {
			return err
		}
	}
	for _, o := range r.works {
		if o.kept {
			c.Say("session %s is kept: ringfence apply or discard %s, or --discard here", o.work.ID, o.work.ID)
		}
	}
	return nil
}
