//go:build ringfence_mutate

package microvm

import (
	"os"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

func mutated(what string) bool { return os.Getenv("RINGFENCE_MUTATE") == what }

// mutateTell lets a program of the workspace be root of the guest.
func mutateTell(tell []string, p *plan.Plan) []string {
	if mutated("guest-root") {
		return append(tell, string(p.Process.Dir))
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

// mutateShares lets shares be written.
func mutateShares(ops []plan.Op) []plan.Op {
	for i := range ops {
		if mutated("share") && (ops[i].Do == plan.DoBind || ops[i].Do == plan.DoCover) {
			ops[i].Do, ops[i].Write, ops[i].Hide = plan.DoBind, true, nil
		}
	}
	return ops
}
