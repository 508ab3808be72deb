package container

import (
	"context"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
)

// JanitorArg is the first argument by which main knows the janitor of a container.
const JanitorArg = "__container-janitor"

// JanitorMain removes a container when its session has ended, however it did: args are
// the engine's socket and the name.
func JanitorMain(args []string) int {
	cgroup.AwaitEnd()
	if len(args) != 2 {
		return 1
	}
	e, err := at(args[0])
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = e.remove(ctx, args[1])
	}
	if err != nil {
		return 1
	}
	return 0
}
