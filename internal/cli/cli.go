// Package cli is the command line, and the only writer to a terminal: the table of all
// commands, what is made of it, and the commands that start a session. The others are in
// the packages below, one file a command.
package cli

import (
	"errors"
	"flag"
	"io"
	golog "log"
	"os"
	"slices"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// Role is what ringfence starts of itself by a first argument that nobody types.
type Role func(args []string) int

// Main runs one command, or one of the roles, and returns its exit status.
func Main(args []string, in, out, err *os.File, roles map[string]Role) int {
	return run(newConsole(in, out, err), args, roles)
}

func newConsole(in, out, err *os.File) *command.Console {
	openStandard()
	golog.SetOutput(io.Discard) // net/http says there what a server can make it say, and the terminal is the person's
	return &command.Console{In: in, Out: out, Err: err, Environ: os.Environ()}
}

func run(c *command.Console, args []string, roles map[string]Role) int {
	if e := closeInherited(); e != nil {
		c.Explain(fault.New(fault.Failed, "ringfence needs Linux 5.11 or later", "close inherited descriptors: %w", e))
		return 125
	}
	if len(args) > 1 && roles[args[1]] != nil {
		return roles[args[1]](args[2:])
	}
	status, fail := dispatch(c, args)
	if fail == nil {
		return status
	}
	if errors.Is(fail, flag.ErrHelp) {
		return 0
	}
	c.Explain(fail)
	if status == 0 {
		status = fault.ExitStatus(fail)
	}
	return status
}

func dispatch(c *command.Console, args []string) (int, error) {
	if len(args) < 2 {
		usage(c.Err)
		return 2, nil
	}
	name, rest := args[1], args[2:]
	switch name {
	case "-h", "--help", "-help":
		usage(c.Out)
		return 0, nil
	case "--version":
		name = "version"
	case "--check":
		name = "doctor"
	case completeArg:
		return complete(c, rest), nil
	}
	cmd := find(c, name)
	if cmd == nil {
		return 2, unknownCommand(name)
	}
	if cmd.Instead != "" && terminal.IsTerminal(c.Err) {
		c.Warn(cmd.Instead)
	}
	return c.Execute(cmd, rest)
}

// find returns the command of a name: ours, an older name of one, or an agent of the user's.
func find(c *command.Console, name string) *command.Command {
	for _, e := range entries() {
		if e.name == name {
			return e.make()
		}
	}
	for _, cmd := range oldNames() {
		if cmd.Name == name {
			return cmd
		}
	}
	if names, _ := rules.Agents(c); slices.Contains(names, name) {
		return agentCommand(name, "run "+name+" in a sandbox")
	}
	return nil
}
