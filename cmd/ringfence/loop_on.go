//go:build ringfence_loop

package main

import (
	"os"

	"ringfence.dev/ringfence/internal/sandbox/far"
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == far.Name {
		far.Main()
	}
}
