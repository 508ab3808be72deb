package microvm

import (
	"errors"
	"fmt"

	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
)

// readGreeting takes what a guest greets with, and nothing else.
func readGreeting(s string) (g guest.Greeting, err error) {
	if n, err := fmt.Sscanf(s, "ringfence-guest 1 %d %d %d\n", &g.Kernel, &g.Modules, &g.Furnished); err != nil || n != 3 || g.String() != s || min(g.Kernel, g.Modules, g.Furnished) < 0 {
		return guest.Greeting{}, errors.New("it did not greet as a guest does")
	}
	return g, nil
}
