package cli

import (
	"encoding/json"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/session/control"
)

// inspect prints everything about a session as JSON.
func inspect(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "SESSION", "Prints everything about a session as JSON: its plan, walls, names of variables,\ncredentials by name, and how it does. Values of secrets are not in it.")
	arg, err := c.sessionThenFlags(f, args)
	if err != nil {
		return 2, err
	}
	if arg == "" {
		return 2, fault.New(fault.Usage, "ringfence ps -a lists them", "inspect takes one session")
	}
	id, err := c.findRunning(arg)
	if err == nil {
		r, err := control.Ask(id, control.Request{Do: "inspect"})
		if err != nil {
			return 1, err
		}
		var v any
		if err := json.Unmarshal(r.Inspect, &v); err != nil {
			return 2, err
		}
		return 0, c.writeJSON(v)
	}
	w, werr := c.findWork(arg)
	if werr != nil {
		return 1, err
	}
	return 0, c.writeJSON(map[string]any{"status": ended(w), "trees": w.Trees, "state": w.Dir()})
}
