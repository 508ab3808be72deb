// Package ladder is the table of rungs. Nothing else of a session knows which there are.
package ladder

import (
	"slices"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/container"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/gvisor"
	"ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/ssh"
)

// Rungs are all of them, from the bottom up. Policy has the same names, and says where
// their programs are.
func Rungs(p *policy.Policy) []rung.Rung {
	r := p.Rung
	return []rung.Rung{usual(native.Rung{}),
		container.Rung{Socket: r.Engine.Text(), Image: r.Image.Text(), Confined: r.Container.Text() == policy.ConfinedContainer},
		gvisor.Rung{Runsc: r.Runsc.Text(), Sum: r.RunscSum.Text(), Host: r.Network.Text() == policy.HostNetwork},
		far.Rung{Place: microvm.Place{Qemu: r.Qemu.Text(), Kernel: r.Kernel.Text(), KernelSum: r.KernelSum.Text(), ModulesSum: r.ModulesSum.Text(),
			QemuSum: r.QemuSum.Text(), Accel: r.Accel.Text(),
			Memory: r.Memory.Number(), CPUs: r.CPUs.Number(), Disk: r.Disk.Number()}},
		ssh.New(r.SSH.Text())}
}

// Chosen is the rung that a policy names. There is no other if it cannot be had.
func Chosen(p *policy.Policy) (rung.Rung, error) {
	name := p.Rung.Use.Text()
	all := Rungs(p)
	i := slices.IndexFunc(all, func(r rung.Rung) bool { return r.Name() == name })
	if i < 0 {
		return nil, fault.New(fault.Refused, "see `ringfence rungs`", "there is no rung %q", name)
	}
	if name != policy.RungOfImages && p.Rung.Image != nil {
		return nil, fault.New(fault.Refused, "--rung container", "the rung %s has no images: %s names one", name, p.Rung.Image.Source.String())
	}
	return all[i], nil
}
