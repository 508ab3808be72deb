package sessions

import (
	"io"
	"slices"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/session/control"
)

// stopGrace is what an agent gets to save its work.
const stopGrace = 4 * time.Second

// Stop ends running sessions.
func Stop() *command.Command {
	cmd := &command.Command{Name: "stop", Args: "SESSION... | --all [--time 4s]", Short: "end running sessions",
		Long:     "Ends running sessions: the agent is asked to, and when the time is over everything\ninside is killed. Returns when nothing of them is left.",
		Examples: []string{"ringfence stop demo"},
		Takes:    command.Many}
	f := &cmd.Flags
	all := f.Bool("all", false, "all sessions that run")
	grace := f.Duration("time", stopGrace, "how long they get to end by themselves, such as `10s`; 0 kills at once")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *all == (len(args) > 0) || *grace < 0 {
			return 2, fault.New(fault.Usage, "ringfence ps lists running sessions", "stop takes sessions, or --all, and a time that is not negative")
		}
		if *all {
			var err error
			if args, err = control.Sessions(); err != nil {
				return 2, err
			}
		}
		status := 0
		for _, n := range args {
			err := stopOne(c, n, *grace)
			if err != nil && *all { // one that has ended by itself meanwhile is as good
				if left, lerr := control.Sessions(); lerr == nil && !slices.Contains(left, n) {
					continue
				}
			}
			if err != nil {
				c.Explain(err)
				status = 1
			}
		}
		return status, nil
	}
	return cmd
}

// lastWork is how long a session may take for its end when nothing of the agent is left:
// there may be much to review, and the machine may be slow.
const lastWork = 10 * time.Minute

func stopOne(c *command.Console, arg string, grace time.Duration) error {
	id, err := findRunning(arg)
	if err != nil {
		return err
	}
	_, conn, err := control.Call(id, control.Request{Do: "stop", For: grace})
	if err != nil {
		return fault.New(fault.Failed, "", "%s: %w", id, err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(grace + lastWork))
	if _, _, err := conn.Receive(); err != io.EOF {
		return fault.New(fault.Failed, "see `ringfence ps`", "%s: the end was not seen: %w", id, err)
	}
	c.Say("%s: ended", id)
	return nil
}

// Thaw lets a session go on that was frozen because a decoy was about to leave.
func Thaw() *command.Command {
	return asks(&command.Command{Name: "thaw", Args: "[SESSION]", Short: "let a frozen session go on",
		Long:     "Lets a session go on that ringfence froze, after you have seen why: ringfence log\nSESSION.",
		Examples: []string{"ringfence thaw demo"}}, "goes on")
}
