package mutate

import (
	"slices"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/verify"
)

// inConfined are the defences of a confined container that somebody else raises than in the
// usual one, or beside which another stands: both are left out. Some it does not start
// without, which is what is shown. `test/engine` changes more of what the engine is asked for.
var inConfined = slices.Concat(playedIn("net", "tty"), []mutation{
	{name: "pid", same: true, refuses: true},
	{name: "ipc", same: true, missing: []string{"ipc"}},
	{name: "uts", same: true, missing: []string{"uts"}},
	{name: "cgroup", same: true, missing: []string{"cgroup"}},
	// Who is not root has it only among those that a program could give.
	{name: "caps", same: true, missing: []string{"caps"}, asRoot: []string{"routes"}},
	{name: "no-new-privs", same: true, refuses: true},
	{name: "landlock", same: true, refuses: true},
	{name: "seccomp", same: true, missing: filtered},
	// Engines that show more of the host than was ordered.
	{name: "covers", same: true, refuses: true},
	{name: "share", same: true, refuses: true},
})

// inConfinedUnturned are the others.
func inConfinedUnturned() map[string]string {
	out := map[string]string{}
	for _, c := range verify.Checks() {
		out[c.Name] = "the same code raises it as in the usual container, where it is left out"
	}
	for _, m := range inConfined {
		for _, name := range m.missing {
			delete(out, name)
		}
	}
	for _, w := range []plan.Wall{plan.WallUser, plan.WallNested, plan.WallKeyring} {
		out["wall "+string(w)] = "nobody raises it"
	}
	out["wall "+string(plan.WallMount)] = "there is no container without one"
	return out
}
