// Command ringfence runs an AI coding agent in a sandbox built from nothing.
package main

import (
	"os"

	"ringfence.dev/ringfence/internal/cli"
	"ringfence.dev/ringfence/internal/inside"
)

func main() {
	if len(os.Args) > 0 && os.Args[0] == inside.Name {
		inside.Main()
	}
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
