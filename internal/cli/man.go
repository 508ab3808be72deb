package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// What the manual says of ringfence itself.
const (
	manualShort = "run an AI coding agent in a sandbox built from nothing"
	manualAbout = `ringfence runs an AI coding agent so that your credentials are not there to be
stolen and your internal network is not there to be reached. The agent starts in a sandbox
that is built from nothing: your project at its own path, your toolchains read-only, an empty
private HOME, one gate to the network, and nothing else of your machine.

There is no flag that switches the sandbox off: who wants none runs the bare agent.`
)

var manualMore = []section{
	{title: "EXIT STATUS", text: `Of run, shell, exec and the agents: the command's own; 125 if it was refused or failed before
the command began, 126 if it cannot be executed, 127 if it is not there, 128+n if signal n
killed it. Of commands that check something: 0 clean, 1 findings, 2 wrong usage or no answer.
Of all others: 0 done, 1 not done, 2 wrong usage.`},
	{title: "ENVIRONMENT", text: `NO_COLOR: if it is set, nothing is coloured. XDG_CONFIG_HOME, XDG_STATE_HOME,
XDG_RUNTIME_DIR: where the files below are, if not in their usual places.`},
	{title: "FILES", text: `~/.config/ringfence/policy.toml: your policy. /etc/ringfence/policy.toml: the ceiling of this
machine. .ringfence.toml in a project: what it asks for; it may only tighten until you trust
it. ~/.local/state/ringfence: what is kept of projects and sessions.`},
}

// manCommand prints a page, or writes all of them.
func manCommand() *command.Command {
	cmd := &command.Command{Name: "man", Args: "[COMMAND] [--dir DIR]", Short: "print the manual, or write its pages",
		Long:     "Shows a page of the manual on a terminal; else prints it as man reads it. With --dir it writes\nall pages there.",
		Examples: []string{"ringfence man run", "ringfence man --dir ~/.local/share/man/man1"},
		Takes:    command.Many}
	dir := cmd.Flags.String("dir", "", "write all pages into the directory `DIR`, which must exist")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		pages := manualPages(commands(), manualShort, manualAbout, manualMore)
		switch {
		case *dir != "" && len(args) == 0:
			return writePages(c, *dir, pages)
		case *dir != "" || len(args) > 1:
			return 2, fault.New(fault.Usage, "", "man takes one command, or --dir")
		}
		want := "ringfence.1"
		if len(args) == 1 {
			want = "ringfence-" + args[0] + ".1"
		}
		text, ok := pages[want]
		if !ok {
			return 2, fault.New(fault.Usage, "run `ringfence help` for the list of commands", "there is no page of %q%s", args[0], nearest(args[0]))
		}
		if terminal.IsTerminal(c.Out) {
			if pager, err := exec.LookPath("man"); err == nil {
				return 0, page(c, pager, text)
			}
			c.Say("man is not installed, so this is the page as man reads it; in plain words: ringfence help%s", strings.Join(append([]string{""}, args...), " "))
		}
		_, err := c.Out.WriteString(text)
		return 0, err
	}
	return cmd
}

// page shows a page as man does, a screen at a time.
func page(c *command.Console, pager, text string) error {
	cmd := exec.Command(pager, "-l", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(text), c.Out, c.Err, c.Environ
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("show the manual: %w", err)
	}
	return nil
}

func writePages(c *command.Console, dir string, pages map[string]string) (int, error) {
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return 1, fmt.Errorf("write the manual: %w", err)
		}
	}
	c.Say("%d pages", len(pages))
	return 0, nil
}
