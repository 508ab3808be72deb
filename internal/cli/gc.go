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
	f := c.flags(name, "[flags]", "Removes the kept state of projects that are gone or long unused, after showing it.")
	days := f.Int("days", 0, "also what was not used for `N` days")
	yes := f.Bool("yes", false, "remove without asking")
	asJSON := f.Bool("json", false, "print JSON; removes only with --yes")
	if err := c.parseAll(f, args); err != nil {
		return 2, err
	}
	if *days < 0 {
		return 2, fault.New(fault.Usage, "", "--days %d is negative", *days)
	}
	dirs, err := c.dirs()
	if err != nil {
		return 2, err
	}
	stale, err := dirs.GC(time.Now(), time.Duration(*days)*24*time.Hour)
	if err != nil {
		return 2, err
	}
	old, err := journal.Sweep(run.JournalDir(dirs), time.Now(), max(time.Duration(*days)*24*time.Hour, keepJournals), newestJournals)
	if err != nil {
		return 2, err
	}
	if err := c.showStale(stale, *asJSON); err != nil {
		return 2, err
	}
	if len(old) > 0 {
		fmt.Fprintf(c.err, "ringfence: %d records of sessions are older than %d days\n", len(old), max(*days, int(keepJournals.Hours()/24)))
	}
	if len(stale)+len(old) == 0 || !*yes && !c.confirm(fmt.Sprintf("Remove the state of %d project(s) and %d record(s)?", len(stale), len(old)), *asJSON) {
		return 0, nil
	}
	for _, s := range stale {
		if err := dirs.Remove(s); err != nil {
			return 1, err
		}
	}
	for _, id := range old {
		if err := journal.Remove(run.JournalDir(dirs), id); err != nil {
			return 1, err
		}
	}
	fmt.Fprintf(c.err, "ringfence: removed %d\n", len(stale)+len(old))
	return 0, nil
}

func (c *context) showStale(stale []session.Stale, asJSON bool) error {
	if asJSON {
		rows := []map[string]any{}
		for _, s := range stale {
			rows = append(rows, map[string]any{"key": s.Key, "root": plan.Raw(s.Root), "why": s.Why, "last_used": s.LastUsed, "size": s.Size})
		}
		return json.NewEncoder(c.out).Encode(rows)
	}
	if len(stale) == 0 {
		fmt.Fprintln(c.err, "ringfence: nothing is stale")
	}
	for _, s := range stale {
		fmt.Fprintf(c.out, "%s  %-9s  %s  %8.1f MiB  %s\n", s.Key, s.Why, s.LastUsed.Format("2006-01-02"), float64(s.Size)/(1<<20), plan.Show(s.Root))
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
