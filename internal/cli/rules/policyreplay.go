package rules

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/explain/policytest"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
)

// replay holds the decisions of past sessions against the policy as it is now.
func replay(c *command.Console, t *policyTested, sessions []string) (int, error) {
	if t.live {
		return 2, fault.New(fault.Usage, "leave one of them out", "--replay tests the past and --live a sandbox of now")
	}
	opt, err := prepareTest(c, t)
	if err != nil {
		return 2, err
	}
	opt.Look = true
	s, err := session.Prepare(opt)
	if err != nil {
		return 2, err
	}
	dirs, err := c.Dirs()
	if err != nil {
		return 2, err
	}
	dir := dirs.Journal()
	named := len(sessions) > 0
	if !named {
		list, err := journal.List(dir)
		if err != nil {
			return 2, err
		}
		for _, info := range slices.Backward(list) {
			sessions = append(sessions, info.Session)
		}
	}
	r := &policytest.Replay{World: s.World()}
	count := 0
	for _, id := range sessions {
		records, err := allRecords(dir, id)
		if err != nil || len(records) == 0 && named {
			return 2, fault.New(fault.Failed, "`ringfence log` alone shows the newest", "no record of session %q: %v", id, err)
		}
		if !named && !hereOnly(records, s) {
			continue
		}
		count++
		for _, rec := range records {
			r.Add(id, rec)
		}
	}
	return printReplay(c, r, count, t.asJSON)
}

// hereOnly holds for a session of the project that is tested: what another project's
// own policy allowed says nothing here.
func hereOnly(records []journal.Record, s *session.Session) bool {
	known := false
	for _, r := range records {
		if r.Kind != journal.Session || r.Event != journal.Granted || r.State != "workspace" {
			continue
		}
		if known = true; slices.Contains(r.List.All(), s.Workspaces[0].Path) {
			return true
		}
	}
	return !known // a record of old says nothing of it
}

func printReplay(c *command.Console, r *policytest.Replay, sessions int, asJSON bool) (int, error) {
	status := min(len(r.Found), 1)
	if asJSON {
		found := r.Found
		if found == nil {
			found = []policytest.Difference{}
		}
		return status, c.JSON(found)
	}
	w := bufio.NewWriter(c.Out)
	for i := range r.Found {
		writeDifference(w, &r.Found[i])
	}
	if err := w.Flush(); err != nil {
		return 2, err
	}
	c.Say("%d decisions of %d sessions, %d would differ", r.Seen, sessions, len(r.Found))
	return status, nil
}

func writeDifference(w io.Writer, d *policytest.Difference) {
	fmt.Fprintf(w, "%s: %s %s", d.Change, d.Access, plan.Show(d.Subject))
	if d.Count > 1 {
		fmt.Fprintf(w, "  (%d times)", d.Count)
	}
	fmt.Fprintln(w)
	line(w, "then", fmt.Sprintf("%s in session %s, %s", d.Was, d.Session, d.Then))
	line(w, "now", fmt.Sprintf("%s by %s: %s, %s (%s)", d.Now.Verdict, d.Now.By, d.Now.Reason, d.Now.Rule, d.Now.Source))
}
