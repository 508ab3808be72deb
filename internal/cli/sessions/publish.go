package sessions

import (
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/control"
)

// Publish shows a server of a running session on the host's loopback.
func Publish() *command.Command {
	cmd := &command.Command{Name: "publish", Args: "SESSION [HOST:]PORT", Short: "open a server of a running session on the host's loopback",
		Long: "Shows the port of a server inside on the host's loopback, until the session ends, as\n" +
			"--publish does from the start. Everything that runs on this machine can connect to it.",
		Examples: []string{"ringfence publish demo 3000", "ringfence publish demo 8080:3000"},
		Takes:    command.Many}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if len(args) != 2 {
			return 2, fault.New(fault.Usage, "ringfence requests lists the servers inside", "publish takes a session and a port")
		}
		if _, _, err := policy.ParsePublish(args[1]); err != nil {
			return 2, fault.New(fault.Usage, "ringfence publish SESSION 8080:3000 shows port 3000 as 8080", "%w", err)
		}
		id, err := findRunning(args[0])
		if err != nil {
			return 1, err
		}
		r, err := control.Ask(id, control.Request{Do: "publish", Rule: args[1]})
		if err != nil {
			return 1, fault.New(fault.Refused, "", "not published: %w", err)
		}
		c.Say("%s: http://localhost:%d → inside:%d, until the session ends", id, r.Published.Published, r.Published.Port)
		return 0, nil
	}
	return cmd
}
