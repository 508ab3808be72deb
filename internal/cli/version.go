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
	_, err := fmt.Fprintf(c.out, "ringfence %s %s/%s\n", versionText(), runtime.GOOS, runtime.GOARCH)
	return 0, err
}

func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok && Version == "unknown" && info.Main.Version != "" {
		return info.Main.Version
	}
	return Version
}
