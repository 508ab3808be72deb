package cli

import (
	"os"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// internalCommand dispatches what ringfence starts of itself and nobody types.
func internalCommand(name string, args []string) (status int, done bool) {
	switch name {
	case hostfacts.ProbeArg:
		return hostfacts.ProbeMain(args), true
	case cgroup.JanitorArg:
		return cgroup.JanitorMain(args), true
	case probe.Arg:
		return probe.Main(args, os.Stdin, os.Stdout), true
	}
	return 0, false
}
