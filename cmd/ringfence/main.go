// Command ringfence runs an AI coding agent in a sandbox built from nothing.

// The runtime would keep cgroup files of the host open to follow its CPU limit,
// in PID 1 of the sandbox too; one that only waits has no use for that.
//
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0
package main

import (
	"os"
	"strings"

	"ringfence.dev/ringfence/internal/cli"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/sign"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/container"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/inside"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/self"
	"ringfence.dev/ringfence/internal/sandbox/sentry"
	"ringfence.dev/ringfence/internal/sandbox/ssh"
	"ringfence.dev/ringfence/internal/session/toolbox"
)

// carriedName is the digest of what is carried.
var carriedName string

// roles are what ringfence starts of itself by a first argument.
var roles = map[string]cli.Role{
	hostfacts.ProbeArg:   hostfacts.ProbeMain,
	cgroup.JanitorArg:    cgroup.JanitorMain,
	container.JanitorArg: container.JanitorMain,
	probe.Arg:            func(args []string) int { return probe.Main(args, os.Stdin, os.Stdout) },
}

func main() {
	self.Carry(carried, carriedName)
	if len(os.Args) > 0 && os.Args[0] == inside.Name {
		inside.Main()
	}
	if guest.Is(os.Args) {
		guest.Main()
	}
	if len(os.Args) > 0 && os.Args[0] == far.Name {
		far.Main()
	}
	if ssh.Is(os.Args) {
		ssh.Main(os.Args)
	}
	if len(os.Args) > 0 && os.Args[0] == container.StageName {
		container.StageMain()
	}
	if len(os.Args) > 0 && os.Args[0] == sentry.StageName {
		sentry.StageMain()
	}
	if len(os.Args) > 0 && os.Args[0] == sentry.InitName {
		sentry.Init(os.Args)
		inside.Main()
	}
	if len(os.Args) > 0 && sign.Is(os.Args[0]) {
		os.Exit(sign.Main(os.Args, os.Stdin, os.Stdout, os.Stderr, broker.Endpoint+"/sign/"))
	}
	if len(os.Args) > 0 && os.Args[0] == cli.KeptName {
		os.Exit(cli.MainKept(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 0 && mcp.IsClient(os.Args[0]) {
		os.Exit(mcp.ClientMain(os.Args, os.Stdin, os.Stdout, os.Stderr, strings.TrimPrefix(broker.Endpoint, "http://")))
	}
	if len(os.Args) > 0 && toolbox.IsClient(os.Args[0]) {
		os.Exit(toolbox.ClientMain(os.Args, os.Stdout, os.Stderr, strings.TrimPrefix(broker.Endpoint, "http://")))
	}
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr, roles))
}
