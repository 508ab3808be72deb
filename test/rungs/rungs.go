// Package rungs says on which rung the suites play. A variable names it (package
// built); without it that is the native one. The rung is put into the
// administrator's policy of the host that a suite plays on: no suite names it itself.
package rungs

import (
	"fmt"
	"os"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/tier"
)

// Native is the rung that needs nothing; Container needs an engine, which is started for it;
// MicroVM needs a kernel, see package machine.
const (
	Native    = "native"
	Container = "container"
	GVisor    = "gvisor"
	MicroVM   = "microvm"
)

// KernelEnv is where the kernel of the rung of virtual machines is.
const KernelEnv = "MICROVM_KERNEL"

// Name is the rung that is played on.
func Name() string {
	if name := os.Getenv(built.RungEnv); name != "" && !built.Loop() { // a loop has the native walls at its far end
		return name
	}
	return Native
}

// Plain reports whether it is the native one.
func Plain() bool { return Name() == Native }

// Mine reports whether the i-th of the ways to play a case is played here: on the native
// rung each, on another every second, if the case has others.
func Mine(only bool, i int) bool { return Plain() || only || tier.All() || i%2 == 0 }

// Policy is what the administrator of the host writes, with the program, the engine or the
// kernel of the rung at a path; "" for the native rung.
func Policy(at string) string {
	switch Name() {
	case Native:
		return ""
	case Container:
		return fmt.Sprintf("[rung]\nuse = %q\nengine = %q\n", Name(), at)
	case MicroVM:
		return fmt.Sprintf("[rung]\nuse = %q\nkernel = %q\naccel = \"tcg\"\n", Name(), at)
	}
	return fmt.Sprintf("[rung]\nuse = %q\nrunsc = %q\n", Name(), at)
}
