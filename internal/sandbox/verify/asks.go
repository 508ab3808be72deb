package verify

import (
	"bytes"
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// asks is the command of the battery, by arguments that no other process has.
func (p *plant) asks(self string) []string {
	return []string{self, probe.Arg, probe.BatteryArg, p.mark()}
}

func (p *plant) mark() string { return prefix + "asks-" + p.id }

// runsHere looks whether the battery is a process of this kernel. It waits for its target
// meanwhile, so it is there to be seen.
func (p *plant) runsHere() bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is one
	for _, name := range all {
		if b, err := os.ReadFile(name); err == nil && bytes.Contains(b, []byte(p.mark())) {
			return true
		}
	}
	return false
}
