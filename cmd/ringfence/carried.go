//go:build ringfence_carried

package main

import _ "embed"

// carried is the small program, built by `make build` just before.
//
//go:embed carried.bin
var carried string
