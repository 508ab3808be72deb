package cli

import (
	"fmt"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session/control"
)

// attach takes over the terminal of a kept session.
func attachCommand() *command {
	cmd := &command{name: "attach", args: "[SESSION]", short: "take over the terminal of a kept session",
		long:     "Takes over the terminal of a session that was started with --keep or -d. Ctrl-] d\nleaves it running, as closing the terminal does. Ctrl-] twice is one Ctrl-] for the\nsession. Who was attached before is detached. Without SESSION the only one.",
		examples: []string{"ringfence attach demo"},
		takes:    takesOne, status: 125}
	cmd.run = func(c *console, args []string) (int, error) {
		arg := first(args)
		if !terminal.IsTerminal(c.in) || !terminal.IsTerminal(c.out) {
			return 125, fault.New(fault.Refused, "ringfence output shows what it prints", "attach needs a terminal")
		}
		id, err := c.findRunning(arg)
		if err != nil {
			return 125, err
		}
		q := control.Request{Do: "attach"}
		if ws, err := terminal.Size(c.out); err == nil {
			q.Rows, q.Cols = ws.Row, ws.Col
		}
		_, conn, err := control.Call(id, q)
		if err != nil {
			return 125, err
		}
		client := &control.Client{Conn: conn, In: c.in, Out: c.out}
		how, err := client.Run()
		if err != nil {
			return 125, err
		}
		return c.left(id, how, client.Status)
	}
	return cmd
}

// left says how an attachment ended. The status is the session's, where it has one.
func (c *console) left(id string, how control.How, status int) (int, error) {
	switch how {
	case control.Ended:
		return status, nil
	case control.Detached:
		fmt.Fprintf(c.err, "\nringfence: detached; back with: ringfence attach %s\n", id)
		return 0, nil
	case control.Displaced:
		fmt.Fprintf(c.err, "\nringfence: %s was detached from elsewhere\n", id)
		return 0, nil
	}
	return 137, fault.New(fault.Failed, "see `ringfence ps -a`", "session %s is gone", id)
}

// detach lets go of the terminal of a kept session, from elsewhere.
func detachCommand() *command {
	cmd := &command{name: "detach", args: "[SESSION]", short: "let go of the terminal of a kept session",
		long:     "Detaches who is attached to a session. The session goes on.",
		examples: []string{"ringfence detach demo"},
		takes:    takesOne}
	cmd.run = func(c *console, args []string) (int, error) {
		arg := first(args)
		id, err := c.findRunning(arg)
		if err != nil {
			return 1, err
		}
		if _, err := control.Ask(id, control.Request{Do: "detach"}); err != nil {
			return 1, fault.New(fault.Failed, "", "%s: %w", id, err)
		}
		fmt.Fprintf(c.err, "ringfence: %s: detached\n", id)
		return 0, nil
	}
	return cmd
}
