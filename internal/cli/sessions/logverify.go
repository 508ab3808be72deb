package sessions

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
)

// logVerify finds out whether journals are what was written: 0 they are, 1 one is
// not, 2 it could not be looked at.
func logVerify() *command.Command {
	cmd := &command.Command{Name: "log verify", Args: "[SESSION...] [flags]", Short: "find out whether records are still what was written",
		Long:     "Checks that the records of sessions are what was written: that no line was changed,\nmoved, added or removed, that none is missing, and that none is older than it should\nbe. Without SESSION all that are there or should be. Exit 0: they are, 1: one is not,\nor cannot be verified.",
		Examples: []string{"ringfence log verify", "ringfence log verify demo --json"},
		Takes:    command.Many}
	f := &cmd.Flags
	asJSON := f.Bool("json", false, "print JSON")
	since := f.String("since", "", "what an earlier run printed as the register: `N:HASH` must still be in it")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		var at *journal.Anchor
		if *since != "" {
			a, err := journal.ParseAnchor(*since)
			if err != nil {
				return 2, fault.New(fault.Usage, "run `ringfence log verify` and keep what it prints", "--since: %w", err)
			}
			at = &a
		}
		dirs, err := c.Dirs()
		if err != nil {
			return 2, err
		}
		ids, err := sessionsNamed(dirs.Journal(), args)
		if err != nil {
			return 2, err
		}
		report, err := journal.Verify(dirs.Journal(), ids, at)
		if err != nil {
			return 2, err
		}
		if *asJSON {
			err = c.JSON(map[string]any{"version": 1, "sound": !report.Bad(), "key": report.Key, "register": report.Register,
				"findings": report.Findings, "journals": report.Journals})
		} else {
			tellVerified(c, report)
		}
		if err != nil {
			return 2, err
		}
		if report.Bad() {
			return 1, nil
		}
		return 0, nil
	}
	return cmd
}

func tellVerified(c *command.Console, r *journal.Report) {
	bad, unknown := len(r.Findings), 0
	for _, j := range r.Journals {
		fmt.Fprintln(c.Out, command.Inert(verifiedLine(j)))
		switch j.State {
		case journal.Bad:
			bad++
		case journal.Unchained:
			unknown++
		}
	}
	for _, finding := range r.Findings {
		fmt.Fprintf(c.Out, "register    %s\n", command.Inert(finding))
	}
	if unknown > 0 {
		c.Say("%d record%s of sessions cannot be verified", unknown, command.Plural(unknown, "", "s"))
	}
	switch {
	case bad == 0 && unknown > 0:
	case bad > 0:
		c.Say("%d finding%s: not all is as it was written", bad, command.Plural(bad, "", "s"))
	case len(r.Journals) == 0:
		c.Say("no session has left a record yet")
	default:
		n := len(r.Journals)
		c.Say("%d record%s of sessions, nothing is wrong", n, command.Plural(n, "", "s"))
		c.Say("register %s", r.Register)
	}
}

// verifiedLine is one journal for people.
func verifiedLine(j journal.Checked) string {
	text := fmt.Sprintf("%s  %-11s", j.Session, j.State)
	switch j.State {
	case journal.Bad:
		if j.Line > 0 {
			text += fmt.Sprintf(" line %d:", j.Line)
		}
		return text + " " + j.Finding
	case journal.Removed, journal.Empty:
		return strings.TrimSpace(text)
	case journal.Unfinished:
		return text + fmt.Sprintf(" its writer was killed: %d records, signed up to %d; the last %d were never signed", j.Records, j.Signed, j.Records-j.Signed)
	case journal.Running:
		return text + fmt.Sprintf(" %d records, signed up to %d", j.Records, j.Signed)
	case journal.Unchained:
		return text + fmt.Sprintf(" %d records in the form of an older version: it had no hashes, and anybody could have written them", j.Records)
	}
	text += fmt.Sprintf(" %d records", j.Records)
	if j.Unsigned > 0 {
		text += fmt.Sprintf(", of which %d were signed only after the session was killed", j.Unsigned)
	}
	return text
}
