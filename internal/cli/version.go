package cli

import (
	"fmt"
	"runtime"

	"ringfence.dev/ringfence/internal/cli/command"
)

func versionCommand() *command.Command {
	return &command.Command{Name: "version", Short: "print the version", Long: "Prints the version.", Examples: []string{"ringfence version"},
		Run: func(c *command.Console, _ []string) (int, error) {
			_, err := fmt.Fprintf(c.Out, "ringfence %s %s/%s\n", command.VersionText(), runtime.GOOS, runtime.GOARCH)
			return 0, err
		}}
}
