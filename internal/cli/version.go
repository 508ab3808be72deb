package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is set by the linker.
var Version = "unknown"

func versionCommand() *command {
	return &command{name: "version", short: "print the version", long: "Prints the version.", examples: []string{"ringfence version"},
		run: func(c *console, _ []string) (int, error) {
			_, err := fmt.Fprintf(c.out, "ringfence %s %s/%s\n", versionText(), runtime.GOOS, runtime.GOARCH)
			return 0, err
		}}
}

func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok && Version == "unknown" && info.Main.Version != "" {
		return info.Main.Version
	}
	return Version
}
