package sessions

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/history"
)

// History lists the conversations that were copied to the host, and takes them back.
func History() *command.Command {
	cmd := &command.Command{Name: "history", Args: "[--take-back SESSION] [--json]", Short: "list conversations that were copied to the host",
		Long: `Lists the conversations that sessions copied to where the host's agent keeps its own, if
your policy says [agent] history = "shared". --take-back removes what a session copied:
a new conversation goes, one that it continued ends where it did. What was changed since is
named and left alone, and the exit status is 1 then. The agent inside keeps its own.`,
		Examples: []string{"ringfence history"}}
	back := cmd.Flags.String("take-back", "", "remove from the host what `SESSION` copied there")
	asJSON := cmd.Flags.Bool("json", false, "print the list as JSON")
	cmd.Run = func(c *command.Console, _ []string) (int, error) {
		memories, err := memories(c)
		if err != nil {
			return 2, err
		}
		if *back != "" {
			return takeBack(c, memories, *back)
		}
		return 0, listCopies(c, memories, *asJSON)
	}
	return cmd
}

// memories are the files in which projects remember what was copied.
func memories(c *command.Console) ([]string, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dirs.State, "projects", "*", session.HistoryFile))
}

func listCopies(c *command.Console, memories []string, asJSON bool) error {
	all := []history.Copy{}
	for _, m := range memories {
		some, err := history.Copies(m)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b history.Copy) int { return a.When.Compare(b.When) })
	if asJSON {
		return c.JSON(all)
	}
	var rows [][]string
	for _, f := range all {
		state := "copied"
		switch {
		case f.Back:
			state = "taken back"
		case f.Was > 0:
			state = "continued"
		}
		rows = append(rows, []string{f.Session, f.When.Local().Format(time.DateTime), state, f.Path})
	}
	if len(rows) == 0 {
		c.Say("no conversation was copied to the host")
		return nil
	}
	return c.Table([]string{"SESSION", "WHEN", "STATE", "CONVERSATION"}, rows)
}

func takeBack(c *command.Console, memories []string, id string) (int, error) {
	var all history.Report
	for _, m := range memories {
		copies, err := history.Copies(m)
		if err != nil {
			return 2, err
		}
		if !slices.ContainsFunc(copies, func(f history.Copy) bool { return f.Session == id && !f.Back }) {
			continue
		}
		r, err := history.TakeBack(m, id)
		if err != nil {
			return 2, err
		}
		all.Add(r)
	}
	if len(all.Copied)+len(all.Left) == 0 {
		return 2, fault.New(fault.Failed, "ringfence history lists them", "session %s has copied no conversation to the host", command.Inert(id))
	}
	if dirs, err := c.Dirs(); err == nil && len(all.Copied) > 0 {
		for _, r := range journal.Split(journal.Record{Kind: journal.Work, Event: journal.Undone, Method: "undo", Count: len(all.Copied)}, all.Copied) {
			if err := journal.Append(dirs.Journal(), id, r); err != nil && !os.IsNotExist(err) {
				c.Warn("this is not recorded: " + err.Error())
			}
		}
	}
	for _, p := range all.Copied {
		c.Say("taken back: %s", command.Inert(p))
	}
	for _, l := range all.Left {
		c.Say("left alone: %s: %s", command.Inert(l.Name), l.Why)
	}
	return min(len(all.Left), 1), nil
}
