package source

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/fault"
)

// Ref says where a secret is kept.
type Ref struct {
	Name string   // its own name, which the store knows it by
	From string   // "store" (or ""), "env", "file", "command", "keyring", "secret-service" or "pass"
	Arg  string   // the variable, the path, the name of the key or the entry, ATTR=VALUE,…
	Argv []string // of a command
}

// Host is what a Ref is read on.
type Host struct {
	Environ    []string // of the launcher
	Home       string
	Workspaces []string // what an agent can write: nothing there is ever a source
	Store      Store
	Unseen     func(path string) error // says why a file must not be used; may be nil
	Patience   time.Duration           // with a command; 30 s if none is given
}

// Read returns the secret as it is now. An error names the secret and its source,
// and never quotes what was read.
func (r Ref) Read(ctx context.Context, h Host) (Value, error) {
	var text string
	var err error
	switch r.From {
	case "", "store":
		return h.Store.Get(r.Name)
	case "env":
		text, err = h.variable(r.Arg)
	case "file":
		text, err = h.file(r.Arg)
	case "command":
		text, err = h.command(ctx, r.Argv)
	case "keyring":
		text, err = keyring(r.Arg)
	case "secret-service":
		text, err = h.service(ctx, r.Arg)
	case "pass":
		text, err = h.pass(ctx, r.Arg)
	default:
		err = fmt.Errorf("there is no source %q", r.From)
	}
	if err != nil {
		return Value{}, fmt.Errorf("secret %s from %s: %w", r.Name, r, err)
	}
	v, err := New(text)
	if err != nil {
		return Value{}, fault.New(fault.Refused, fmt.Sprintf("look at the source, then run `ringfence secret test %s`", r.Name),
			"secret %s from %s cannot be used: %w", r.Name, r, err)
	}
	return v, nil
}

// String names the source as a policy does.
func (r Ref) String() string {
	switch {
	case r.From == "":
		return "store"
	case r.From == "command" && len(r.Argv) > 0:
		return "command " + shown(r.Argv[0])
	case r.Arg == "":
		return r.From
	}
	return r.From + ":" + shown(r.Arg)
}

// variable reads from the launcher's environment.
func (h Host) variable(name string) (string, error) {
	for _, e := range h.Environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok && name != "" {
			return value, nil
		}
	}
	return "", fault.New(fault.Refused, fmt.Sprintf("export %s before you start ringfence", name), "the variable is not set")
}
