package sessions

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session/control"
)

// Attach takes over the terminal of a kept session.
func Attach() *command.Command {
	cmd := &command.Command{Name: "attach", Args: "[SESSION]", Short: "take over the terminal of a kept session",
		Long: "Takes over the terminal of a session that was started with --keep or -d. Ctrl-] d\nleaves it running, as closing the terminal does. Ctrl-] twice is one Ctrl-] for the\nsession. Who was attached before is detached. Without SESSION the only one.\n" +
			"Where the link to another machine was lost, it first tries to take it up again. Of a\nsession that has ended by that, it fetches what that machine kept, for review.",
		Examples: []string{"ringfence attach demo"},
		Takes:    command.One, Status: 125}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		id, err := findRunning(command.First(args))
		if err != nil {
			if w := leftElsewhere(c, command.First(args)); w != nil {
				return fetchLeft(c, w)
			}
			return 125, err
		}
		if _, err := control.Ask(id, control.Request{Do: "again"}); err != nil {
			return 125, fault.New(fault.Failed, "it is tried again by itself; ringfence stop "+id+" ends it here", "the link of %s is lost, and cannot be taken up now: %w", id, err)
		}
		if !c.Typing() || !terminal.IsTerminal(c.Out) {
			return 125, fault.New(fault.Refused, "ringfence output shows what it prints", "attach needs a terminal")
		}
		q := control.Request{Do: "attach"}
		if ws, err := terminal.Size(c.Out); err == nil {
			q.Rows, q.Cols = ws.Row, ws.Col
		}
		_, conn, err := control.Call(id, q)
		if err != nil {
			return 125, err
		}
		client := &control.Client{Conn: conn, In: c.In, Out: c.Out}
		how, err := client.Run()
		if err != nil {
			return 125, err
		}
		return Left(c, id, how, client.Status)
	}
	return cmd
}

// Left says how an attachment ended. The status is the session's, where it has one.
func Left(c *command.Console, id string, how control.How, status int) (int, error) {
	switch how {
	case control.Ended:
		return status, nil
	case control.Detached:
		fmt.Fprintf(c.Err, "\nringfence: detached; back with: ringfence attach %s\n", id)
		return 0, nil
	case control.Displaced:
		fmt.Fprintf(c.Err, "\nringfence: %s was detached from elsewhere\n", id)
		return 0, nil
	}
	return 137, fault.New(fault.Failed, "see `ringfence ps -a`", "session %s is gone", id)
}

// Detach lets go of the terminal of a kept session, from elsewhere.
func Detach() *command.Command {
	return asks(&command.Command{Name: "detach", Args: "[SESSION]", Short: "let go of the terminal of a kept session",
		Long:     "Detaches who is attached to a session. The session goes on.",
		Examples: []string{"ringfence detach demo"}}, "detached")
}

// asks makes a command of what a running session does when it is asked by that name.
func asks(cmd *command.Command, done string) *command.Command {
	cmd.Takes = command.One
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		id, err := findRunning(command.First(args))
		if err != nil {
			return 1, err
		}
		if _, err := control.Ask(id, control.Request{Do: cmd.Name}); err != nil {
			return 1, fault.New(fault.Failed, "", "%s: %w", id, err)
		}
		c.Say("%s: %s", id, done)
		return 0, nil
	}
	return cmd
}
