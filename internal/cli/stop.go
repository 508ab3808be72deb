package cli

import (
	"fmt"
	"io"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/session/control"
)

// stopGrace is what an agent gets to save its work.
const stopGrace = 4 * time.Second

// stop ends running sessions.
func stopCommand() *command {
	cmd := &command{name: "stop", args: "SESSION... | --all [--time 4s]", short: "end running sessions",
		long:     "Ends running sessions: the agent is asked to, and when the time is over everything\ninside is killed. Returns when nothing of them is left.",
		examples: []string{"ringfence stop demo"},
		takes:    takesMany}
	f := &cmd.flags
	all := f.Bool("all", false, "all sessions that run")
	grace := f.Duration("time", stopGrace, "how long they get to end by themselves, such as `10s`; 0 kills at once")
	cmd.run = func(c *console, args []string) (int, error) {
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
			if err := c.stopOne(n, *grace); err != nil {
				c.explain(err)
				status = 1
			}
		}
		return status, nil
	}
	return cmd
}

func (c *console) stopOne(arg string, grace time.Duration) error {
	id, err := c.findRunning(arg)
	if err != nil {
		return err
	}
	_, conn, err := control.Call(id, control.Request{Do: "stop", For: grace})
	if err != nil {
		return fault.New(fault.Failed, "", "%s: %w", id, err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(grace + time.Minute)) // it may have much to review
	if _, _, err := conn.Receive(); err != io.EOF {
		return fault.New(fault.Failed, "see `ringfence ps`", "%s: the end was not seen: %w", id, err)
	}
	fmt.Fprintf(c.err, "ringfence: %s: ended\n", id)
	return nil
}

// thaw lets a session go on that was frozen because a decoy was about to leave.
func thawCommand() *command {
	cmd := &command{name: "thaw", args: "[SESSION]", short: "let a frozen session go on",
		long:     "Lets a session go on that ringfence froze, after you have seen why: ringfence log\nSESSION.",
		examples: []string{"ringfence thaw demo"},
		takes:    takesOne}
	cmd.run = func(c *console, args []string) (int, error) {
		arg := first(args)
		id, err := c.findRunning(arg)
		if err != nil {
			return 1, err
		}
		if _, err := control.Ask(id, control.Request{Do: "thaw"}); err != nil {
			return 1, fault.New(fault.Failed, "", "%s: %w", id, err)
		}
		fmt.Fprintf(c.err, "ringfence: %s: goes on\n", id)
		return 0, nil
	}
	return cmd
}
