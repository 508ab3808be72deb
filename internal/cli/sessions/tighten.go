package sessions

import (
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/session/control"
)

// Tighten moves a running session to a stricter mode of the network.
func Tighten() *command.Command {
	cmd := &command.Command{Name: "tighten", Args: "SESSION [--net MODE]", Short: "move a running session to a stricter network",
		Long: "Moves a running session to a stricter mode of the network, at once and until it ends.\n" +
			"Connections that no longer fit are cut, and what was granted before is taken back.\n" +
			"A running session never gets a wider mode.",
		Examples: []string{"ringfence tighten demo", "ringfence tighten demo --net none"},
		Takes:    command.One}
	mode := cmd.Flags.String("net", "locked", "the `MODE` to move to: locked leaves the agent its model, none leaves nothing")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if len(args) != 1 {
			return 2, fault.New(fault.Usage, "see `ringfence ps`", "tighten needs a session")
		}
		t, id, err := askLess(args[0], "tighten", *mode)
		if err != nil {
			return 1, fault.New(fault.Refused, "", "not tightened: %w", err)
		}
		c.Say("%s: network %s, it was %s; %d %s cut", id, t.Mode, t.Was, t.Cut, command.Plural(t.Cut, "connection was", "connections were"))
		for _, g := range t.Grants {
			c.Say("no longer granted: %s", g)
		}
		return 0, nil
	}
	return cmd
}

// Revoke takes one thing back from a running session.
func Revoke() *command.Command {
	cmd := &command.Command{Name: "revoke", Args: "SESSION WHAT", Short: "take a host, an address or a port back from a running session",
		Long: "Takes back what a running session may reach, whoever gave it, until the session ends:\n" +
			"a host or *.DOMAIN, an address or a range, or a port of this machine that is published\n" +
			"or open to the session. Connections to it are cut. A later grant opens a host again.",
		Examples: []string{"ringfence revoke demo github.com", "ringfence revoke demo 192.168.1.20"},
		Takes:    command.Many}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if len(args) != 2 {
			return 2, fault.New(fault.Usage, "ringfence revoke SESSION HOST; `ringfence status SESSION` shows what it has", "revoke takes a session and what is to be taken back")
		}
		t, id, err := askLess(args[0], "revoke", args[1])
		if err != nil {
			return 1, fault.New(fault.Refused, "", "not taken back: %w", err)
		}
		c.Say("%s: taken back: %s; %d %s cut", id, t.Revoked, t.Cut, command.Plural(t.Cut, "connection was", "connections were"))
		if t.Stays != "" {
			c.Say("%s", t.Stays)
		}
		return 0, nil
	}
	return cmd
}

// askLess tells a running session what it is to have less of.
func askLess(session, do, what string) (*control.Tightened, string, error) {
	id, err := findRunning(session)
	if err != nil {
		return nil, "", err
	}
	r, err := control.Ask(id, control.Request{Do: do, Rule: what})
	return r.Tightened, id, err
}
