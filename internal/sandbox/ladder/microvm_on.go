//go:build ringfence_microvm

package ladder

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// further are the rungs above the others.
func further(r policy.Rung) []rung.Rung {
	return []rung.Rung{far.Rung{Place: microvm.Place{Qemu: r.Qemu.Text(), Kernel: r.Kernel.Text(), KernelSum: r.KernelSum.Text(), Accel: r.Accel.Text(),
		Memory: r.Memory.Number(), CPUs: r.CPUs.Number(), Disk: r.Disk.Number()}}}
}
