package cli

import (
	"ringfence.dev/ringfence/internal/cgroup"
	"ringfence.dev/ringfence/internal/host"
)

// internalCommand dispatches what ringfence starts of itself and nobody types.
func internalCommand(name string, args []string) (status int, done bool) {
	switch name {
	case host.ProbeArg:
		return host.ProbeMain(args), true
	case cgroup.JanitorArg:
		return cgroup.JanitorMain(args), true
	}
	return 0, false
}
