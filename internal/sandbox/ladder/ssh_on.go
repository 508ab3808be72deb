//go:build ringfence_ssh

package ladder

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/ssh"
)

// elsewhere are the rungs that stand on another machine.
func elsewhere(r policy.Rung) []rung.Rung { return []rung.Rung{ssh.New(r.SSH.Text())} }
