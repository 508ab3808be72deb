package container

import (
	"context"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
)

// JanitorArg is the first argument by which main knows the janitor of a container.
const JanitorArg = "__container-janitor"

// JanitorMain removes a container when its session has ended, however it did: args are
// the engine's socket and the name.
func JanitorMain(args []string) int {
	told := cgroup.AwaitEnd()
	if len(args) != 2 {
		return 1
	}
	e, err := at(args[0])
	if err != nil {
		return 1
	}
	tries := 1
	if !told { // the engine may be about to make what a killed supervisor asked for
		tries = 10
	}
	for i := range tries {
		if i > 0 {
			time.Sleep(time.Second)
		}
		err = e.remove(context.Background(), args[1])
	}
	if err != nil {
		return 1
	}
	return 0
}
