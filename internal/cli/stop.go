package cli

import (
	"fmt"

	"ringfence.dev/ringfence/internal/control"
	"ringfence.dev/ringfence/internal/fault"
)

// stop ends a running session.
func stop(c *context, name string, args []string) (int, error) {
	return c.tellSession(name, args, "Ends a running session and everything in it.")
}

// thaw lets a session go on that was frozen because a decoy was about to leave.
func thaw(c *context, name string, args []string) (int, error) {
	return c.tellSession(name, args, "Lets a session go on that ringfence froze, after you have seen why: ringfence log SESSION.")
}

func (c *context) tellSession(name string, args []string, about string) (int, error) {
	f := c.flags(name, "SESSION", about)
	if err := c.parse(f, args); err != nil {
		return 2, err
	}
	if f.NArg() != 1 {
		return 2, fault.New(fault.Usage, "ringfence requests lists running sessions", "%s takes one session", name)
	}
	r, err := control.Ask(f.Arg(0), control.Request{Do: name})
	if err != nil {
		return 1, err
	}
	if r.Error != "" {
		return 1, fault.New(fault.Failed, "", "%s: %s", f.Arg(0), r.Error)
	}
	fmt.Fprintf(c.err, "ringfence: %s: %s\n", f.Arg(0), map[string]string{"stop": "ended", "thaw": "goes on"}[name])
	return 0, nil
}
