package sessions

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Discard forgets what a session changed and what waits.
func Discard() *command.Command {
	cmd := &command.Command{Name: "discard", Args: "[SESSION] [PATH...] [flags]", Short: "forget what waits in a session",
		Long:     "Forgets what waits in a session: all of it, or what lies at or below the paths. The\nhost is not touched. Without a terminal --yes is needed.",
		Examples: []string{"ringfence discard --yes"},
		Takes:    command.Many}
	f := &cmd.Flags
	yes := f.Bool("yes", false, "do not ask")
	verbose := f.Bool("verbose", false, "print each path, not only the first ten")
	asJSON := f.Bool("json", false, "print each path as JSON; needs --yes")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		question := func(r *review.Report) string { return fmt.Sprintf("Forget %d change(s) for good?", len(r.Entries)) }
		return settle(c, cmd.Name, args, *yes, *asJSON, question, func(ch *chosen, r *review.Report, book *afterwards) (int, error) {
			if err := ch.work.Discard(ch.sel); err != nil {
				book.close()
				return 1, err
			}
			book.entries(journal.Discarded, r.Entries)
			var out []review.Outcome
			for _, e := range r.Entries {
				out = append(out, review.Outcome{Tree: e.Tree, Path: e.Path, Result: "discarded"})
			}
			status, err := tell(c, ch.work, out, told{*asJSON, *verbose}, nil)
			c.Say("%s", counted(len(r.Entries), "discarded", "discarded"))
			return status, err
		})
	}
	return cmd
}
