package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"ringfence.dev/ringfence/internal/cli/command"
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
		for _, cmd := range g.commands() {
			helpRow(w, cmd.Name, cmd.Short)
		}
	}
	fmt.Fprint(w, "\n`ringfence help COMMAND` explains one, with examples. There is no flag that\nswitches the sandbox off: who wants none runs the bare agent.\n")
}

func helpRow(w io.Writer, name, text string) {
	fmt.Fprintf(w, "  %-11s %s\n", name, command.Wrap(text, 14, 80))
}

func helpCommand() *command.Command {
	cmd := &command.Command{Name: "help", Args: "[COMMAND] [SUBCOMMAND]", Short: "explain a command", Takes: command.Rest,
		Long:     "Explains a command: its arguments, its flags, and how it is used. Without one it lists\nall of them.",
		Examples: []string{"ringfence help run", "ringfence help policy show"}}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if len(args) == 0 {
			usage(c.Out)
			return 0, nil
		}
		of := find(c, args[0])
		if of == nil {
			return 2, unknownCommand(args[0])
		}
		status, err := c.Execute(of, append(args[1:], "--help"))
		if errors.Is(err, flag.ErrHelp) {
			return 0, nil
		}
		return status, err
	}
	return cmd
}

func unknownCommand(name string) error {
	return fault.New(fault.Usage, "run `ringfence help` for the list of commands", "unknown command %q%s", name, nearest(name))
}

func nearest(name string) string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.Name)
	}
	return command.Suggest(name, names)
}
