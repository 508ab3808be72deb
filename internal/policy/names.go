package policy

import "slices"

// modes are the postures of the network from tight to wide. The order is what
// Tighten and Widens compare by, so a new mode is inserted where it belongs.
var modes = []string{"none", "locked", "dev", "internet", "open"}

// WallNames lists the walls that a policy can require, in launch order.
func WallNames() []string {
	return []string{"user", "mount", "pid", "ipc", "uts", "net", "cgroup", "keyring",
		"nested", "caps", "no-new-privs", "landlock", "seccomp", "tty"}
}

// rungs is the ladder from the bottom up. Tighten and Widens compare by its order. Another
// machine stands beside it: AcceptsRung and tightenRung say so.
var rungs = []string{"native", "container", "gvisor", "microvm", rungOfMachines}

// RungNames lists the rungs that a policy can use or require.
func RungNames() []string { return slices.Clone(rungs) }

// HostNetwork is the host's network stack, on gVisor.
const HostNetwork = "host"

// limitNames are the limits whose enforcement needs a cgroup and may be missing.
var limitNames = []string{"pids", "memory"}

// The modes that code asks for by name.
const (
	locked   = "locked"
	dev      = "dev"
	internet = "internet"
	opened   = "open"
)

// Wide holds for a mode in which every public host can be reached.
func Wide(mode string) bool { return mode == internet || mode == opened }

// width ranks a mode. What was not written is as tight as can be, and what is
// unknown (it cannot come from Decode) as wide as can be.
func width(mode *Rule) int {
	if mode == nil {
		return 0
	}
	if i := slices.Index(modes, mode.Value); i >= 0 {
		return i
	}
	return len(modes)
}
