package gvisor

import "ringfence.dev/ringfence/internal/sandbox/program"

// Tested is the version of gVisor that the tests run with.
const Tested = "v0.0.0-20260701204157-69c2d17aea96"

// Hint says how to get runsc. It is never downloaded by ringfence.
const Hint = "get runsc: the Debian package runsc, a release file of gVisor in /usr/local/bin, or `go install gvisor.dev/gvisor/runsc@" + Tested + "`; or name it: [rung] runsc = \"/path\""

var runsc = program.Kind{Name: "runsc", Hint: Hint, Key: "runsc-sha256"}
