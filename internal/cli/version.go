package cli

import (
	"fmt"
	"runtime"
)

// Version is set by the linker.
var Version = "unknown"

func version(c *context, name string, args []string) (int, error) {
	if err := parseAll(c.flags(name, "", "Prints the version."), args); err != nil {
		return 2, err
	}
	_, err := fmt.Fprintf(c.out, "ringfence %s %s/%s\n", Version, runtime.GOOS, runtime.GOARCH)
	return 0, err
}
