package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is set by the linker.
var Version = "unknown"

func version(c *context, name string, args []string) (int, error) {
	if err := c.parseAll(c.flags(name, "", "Prints the version."), args); err != nil {
		return 2, err
	}
	if info, ok := debug.ReadBuildInfo(); ok && Version == "unknown" && info.Main.Version != "" {
		Version = info.Main.Version
	}
	_, err := fmt.Fprintf(c.out, "ringfence %s %s/%s\n", Version, runtime.GOOS, runtime.GOARCH)
	return 0, err
}
