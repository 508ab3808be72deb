// Command small is what stays beside every session and what stands at its gate: PID 1 of
// the sandbox and the janitor. Ringfence carries it inside of itself (see package self).

// See cmd/ringfence.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"os"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/inside"
	"ringfence.dev/ringfence/internal/sandbox/sentry"
)

func main() {
	switch {
	case len(os.Args) == 0:
	case os.Args[0] == inside.Name:
		inside.Main()
	case os.Args[0] == sentry.StageName:
		sentry.StageMain()
	case os.Args[0] == sentry.InitName:
		sentry.Init(os.Args)
		inside.Main()
	case len(os.Args) > 1 && os.Args[1] == cgroup.JanitorArg:
		os.Exit(cgroup.JanitorMain(os.Args[2:]))
	}
	os.Stderr.WriteString("this is a part of ringfence: run that\n")
	os.Exit(2)
}
