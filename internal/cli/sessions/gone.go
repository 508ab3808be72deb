package sessions

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// maxGone is how many of the names are shown that are gone; --summary has more.
const maxGone = 5

// goneSummary says what the session wrote where nothing is kept. It is said to a pipe
// too: nobody looks for a file of which he was not told that it is gone.
func goneSummary(c *command.Console, f review.Outside) {
	if len(f.Items) == 0 {
		if f.More {
			fmt.Fprintln(c.Err, "  not kept   there is more outside the workspace than was looked at")
		}
		return
	}
	least := ""
	if f.More {
		least = "at least "
	}
	fmt.Fprintf(c.Err, "  not kept   %s%d file%s outside the workspace\n", least, f.Files, command.Plural(f.Files, "", "s"))
	for i, item := range f.Items {
		if i == maxGone {
			fmt.Fprintf(c.Err, "             (%d names in all)\n", len(f.Items))
			break
		}
		name, below := plan.Show(item.Path), ""
		if item.Dir {
			below = fmt.Sprintf("  a directory, %d file%s", item.Files, command.Plural(item.Files, "", "s"))
		}
		fmt.Fprintf(c.Err, "             %s%s\n", command.Cut(name, 62), below)
	}
	fmt.Fprintln(c.Err, "             --workspace PATH keeps another directory, the next time")
}
