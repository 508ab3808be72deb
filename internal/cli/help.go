package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// usage lists the commands: first those of every day, then the rest by what a person
// looks for.
func usage(w io.Writer) {
	fmt.Fprint(w, "ringfence runs an AI coding agent in a sandbox built from nothing.\n\nusage: ringfence COMMAND [flags] [ARGS]\n")
	for i, g := range groups() {
		fmt.Fprintf(w, "\n%s\n", g.title)
		if i == 0 {
			helpRow(w, "AGENT", "run an agent in a sandbox: claude, codex, gemini, opencode, or one of your own")
		}
		for _, cmd := range g.commands {
			helpRow(w, cmd.name, cmd.short)
		}
	}
	fmt.Fprint(w, "\n`ringfence help COMMAND` explains one, with examples. There is no flag that\nswitches the sandbox off: who wants none runs the bare agent.\n")
}

func helpRow(w io.Writer, name, text string) {
	fmt.Fprintf(w, "  %-11s %s\n", name, wrapText(text, 14, 80))
}

func helpCommand() *command {
	cmd := &command{name: "help", args: "[COMMAND] [SUBCOMMAND]", short: "explain a command", takes: takesRest,
		long:     "Explains a command: its arguments, its flags, and how it is used. Without one it lists\nall of them.",
		examples: []string{"ringfence help run", "ringfence help policy show"}}
	cmd.run = func(c *console, args []string) (int, error) {
		if len(args) == 0 {
			usage(c.out)
			return 0, nil
		}
		of := c.find(args[0])
		if of == nil {
			return 2, unknownCommand(args[0])
		}
		status, err := c.execute(of, append(args[1:], "--help"))
		if errors.Is(err, flag.ErrHelp) {
			return 0, nil
		}
		return status, err
	}
	return cmd
}

// explainCommand prints the help of one command, in 80 columns.
func (c *console) explainCommand(cmd *command) {
	w := bufio.NewWriter(c.out)
	defer w.Flush()
	fmt.Fprintf(w, "usage: ringfence %s\n", wrapText(cmd.name+" "+cmd.args, 17, 80))
	for para := range strings.SplitSeq(cmd.long, "\n\n") {
		fmt.Fprintf(w, "\n%s\n", wrapText(para, 0, 80))
	}
	section := func(title string) { fmt.Fprintf(w, "\n%s\n", c.paint(strong, title)) }
	if len(cmd.subs) > 0 {
		section("subcommands:")
	}
	for _, s := range cmd.subs {
		fmt.Fprintf(w, "  %-25s %s\n", s.word(), wrapText(s.short, 28, 80))
	}
	title := "none yet"
	for _, o := range cmd.flags.options() {
		if o.group != title {
			title = o.group
			section(strings.TrimSpace("flags "+title) + ":")
		}
		fmt.Fprintf(w, "  %-25s %s\n", strings.TrimSpace(o.dashed()+" "+o.arg), wrapText(o.text, 28, 80))
	}
	if len(cmd.examples) > 0 {
		section("examples:")
	}
	for _, e := range cmd.examples {
		fmt.Fprintf(w, "  %s\n", e)
	}
}

func unknownCommand(name string) error {
	return fault.New(fault.Usage, "run `ringfence help` for the list of commands", "unknown command %q%s", name, nearest(name))
}

func nearest(name string) string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return suggest(name, names)
}

// longestWord bounds the work: what is longer is no slip of the fingers.
const longestWord = 64

// suggest names the word that was probably meant.
func suggest(typed string, words []string) string {
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
