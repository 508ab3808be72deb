//go:build ringfence_mutate

package microvm

import (
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

func mutated(what string) bool { return os.Getenv("RINGFENCE_MUTATE") == what }

// mutateTell lets a program of the workspace be root of the guest, or tells the far end there what
// to leave out.
func mutateTell(tell []string, p *plan.Plan) []string {
	if what, ok := far.LeftOut(); ok {
		return append(tell, guest.LeaveOut, what)
	}
	if mutated("guest-root") {
		return append(tell, guest.Attackers, string(p.Process.Dir))
	}
	return tell
}

// mutateArgv gives the machine a network card, or leaves the emulator's own word on shares out.
func mutateArgv(argv []string) []string {
	if mutated("nic") {
		return append(argv, "-nic", "user,model=virtio")
	}
	for i := range argv {
		if mutated("share") {
			argv[i] = strings.Replace(argv[i], ",readonly=on", "", 1)
		}
	}
	return argv
}

// mutateJail takes a wall of the jail away, or what its share is made of: "jail-" and the name of
// the wall. What is judged later is what was planned.
func mutateJail(p *plan.Plan) *plan.Plan {
	c := *p
	c.Ops, c.Walls = slices.Clone(p.Ops), slices.Clone(p.Walls)
	for i := range c.Ops {
		o := &c.Ops[i]
		switch {
		case mutated("share") && (o.Do == plan.DoBind || o.Do == plan.DoCover) && file.Within(string(o.Dst), shareAt):
			o.Do, o.Write, o.Hide = plan.DoBind, true, nil
		case mutated("jail-cover") && o.Do == plan.DoCover: // a bind, as it once was
			o.Do, o.Hide = plan.DoBind, nil
		case mutated("jail-hide") && o.Do == plan.DoCover:
			o.Hide = nil
		}
	}
	if mutated("jail-limits") {
		c.Limits = plan.Limits{}
	}
	if what, ok := strings.CutPrefix(os.Getenv("RINGFENCE_MUTATE"), "jail-"); ok {
		c.Without(what)
	}
	if mutated("jail-mount") { // the disk is not where it would be
		c.Landlock.Write = nil
	}
	return &c
}
