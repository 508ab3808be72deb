package command

import (
	"bufio"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// help prints the help of one command, in 80 columns.
func (c *Console) help(cmd *Command) {
	w := bufio.NewWriter(c.Out)
	defer w.Flush()
	fmt.Fprintf(w, "usage: ringfence %s\n", Wrap(cmd.Name+" "+cmd.Args, 17, 80))
	for para := range strings.SplitSeq(cmd.Long, "\n\n") {
		fmt.Fprintf(w, "\n%s\n", Wrap(para, 0, 80))
	}
	section := func(title string) { fmt.Fprintf(w, "\n%s\n", c.Paint(Strong, title)) }
	if len(cmd.Subs) > 0 {
		section("subcommands:")
	}
	for _, s := range cmd.Subs {
		fmt.Fprintf(w, "  %-25s %s\n", s.Word(), Wrap(s.Short, 28, 80))
	}
	title := "none yet"
	for _, o := range cmd.Flags.Options() {
		if o.Group != title {
			title = o.Group
			section(strings.TrimSpace("flags "+title) + ":")
		}
		fmt.Fprintf(w, "  %-25s %s\n", strings.TrimSpace(o.Dashed()+" "+o.Arg), Wrap(o.Text, 28, 80))
	}
	if len(cmd.Examples) > 0 {
		section("examples:")
	}
	for _, e := range cmd.Examples {
		fmt.Fprintf(w, "  %s\n", e)
	}
}

// longestWord bounds the work: what is longer is no slip of the fingers.
const longestWord = 64

// Suggest names the word that was probably meant.
func Suggest(typed string, words []string) string {
	if len(typed) > longestWord {
		return ""
	}
	best, most := "", max(1, len(typed)/3)
	for _, w := range words {
		n := fault.Distance(typed, w, most)
		if len(typed) > 2 && (strings.HasPrefix(w, typed) || strings.HasPrefix(typed, w)) {
			n = min(n, 1)
		}
		if n <= most {
			best, most = w, n-1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}
