// Package microvm is the place of the rung of that name: a virtual machine on this one,
// without a network card, in which the far end raises the native walls. The emulator runs
// behind native walls of its own, see jail. The machine is made anew for every session, and
// nothing of it is left but what came back over the link.
//
// Left at risk: the emulator and, with KVM, the host's kernel answer what the guest's devices
// are told. The share is read by the emulator on the guest's behalf.
package microvm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/microvm/ext4"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/program"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/state"
)

// Place is a virtual machine on this one. What is empty or zero is as usual.
type Place struct {
	Qemu       string // the emulator; "": the one on PATH
	Kernel     string // the guest's; "": the newest of this machine
	KernelSum  string // the SHA-256 that it must have; "": any
	ModulesSum string // the one of those of its modules that a guest loads
	QemuSum    string // and of the emulator
	Accel      string // tcg: software makes the processor; "": KVM does
	Memory     int64  // bytes
	CPUs       int64
	Disk       int64 // bytes
}

const (
	kvm = "kvm"
	tcg = "tcg"
)

var _ far.Place = Place{}

// Name implements far.Place.
func (Place) Name() string { return "microvm" }

// Shared implements far.Place: the guest reads files of this machine, and changes none.
func (Place) Shared() bool { return false }

// Offer implements far.Place: the walls are those of the native rung, in the guest.
func (p Place) Offer() rung.Offer {
	o := native.Rung{}.Offer()
	o.Level, o.Kernel, o.Witness = "L3", "a guest's of its own", "the far end; of the machine itself, the host"
	o.Adds = "a machine of its own without a network card: no call of the agent reaches the host's kernel"
	o.Lacks = "the live view; caches and agent settings that stay from session to session; what the host changes meanwhile"
	o.Views = []plan.View{plan.Review}
	o.Leaves = maps.Clone(o.Leaves)
	for _, claimed := range []string{"kernel", "link", "link-end", "nic", "share"} {
		delete(o.Leaves, claimed)
	}
	o.Slow, o.Forgets = p.patience(), true
	if p.Accel == tcg { // what policy takes it for, too: see policy.AcceptsRung
		o.Level, o.Less = native.Rung{}.Offer().Level, "emulated in software"
		o.Adds = "a machine of its own without a network card, made of software: qemu's authors promise no boundary there, so it counts as the native walls around qemu"
	}
	return o
}

func (p Place) accel() string {
	if p.Accel == tcg {
		return tcg
	}
	return kvm
}

// qemuHint says how to get the emulator.
const qemuHint = "sudo apt-get install qemu-system-x86; or name it: [rung] qemu = \"/path\""

var qemuKind = program.Kind{Name: "qemu-system-x86_64", Hint: qemuHint, Key: "qemu-sha256"}

// errArch: the machine is a PC.
var errArch = fault.New(fault.Refused, "--rung gvisor, or --rung native", "the rung microvm is for amd64; this machine is %s", runtime.GOARCH)

// parts are what of others is needed.
type parts struct {
	qemu   *program.File
	kernel *kernel
}

func (p Place) find() (*parts, error) {
	if runtime.GOARCH != "amd64" {
		return nil, errArch
	}
	q, err := qemuKind.Find(p.Qemu, os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	k, err := findKernel(p.Kernel)
	if err != nil {
		q.File.Close()
		return nil, err
	}
	return &parts{q, k}, nil
}

func (f *parts) Close() {
	f.qemu.File.Close()
	f.kernel.file.File.Close()
}

// cache is where what a machine boots is kept: below the state of ringfence, which no session
// is ever shown.
func cache() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New(fault.Refused, "set HOME", "there is no directory for what a machine boots: %w", err)
	}
	d, err := state.XDG(os.Getenv, home)
	return filepath.Join(d.State, "microvm"), err
}

// usual sizes. Memory that the guest does not use is not taken from the host, and memory that
// it gives up is given back.
const (
	usualMemory = 2 << 30
	leastMemory = 256 << 20
	usualCPUs   = 2
	usualDisk   = 8 << 30
	overhead    = 384 << 20 // of the emulator; 273 MiB were seen, with software and a guest that did its worst
)

// size says how large a machine is, under the limits of the session, which count the emulator
// with all that it has.
func (p Place) size(l cgroup.Limits) (memory, cpus, disk int64, err error) {
	memory, cpus, disk = p.Memory, p.CPUs, p.Disk
	if memory == 0 {
		memory = min(usualMemory, cgroup.Machine()/2)
		if l.Memory > 0 {
			memory = min(memory, l.Memory-overhead)
		}
	}
	if cpus == 0 {
		cpus = min(usualCPUs, int64(runtime.NumCPU()))
	}
	if disk == 0 {
		disk = usualDisk
	}
	disk = disk / ext4.Least * ext4.Least
	switch {
	case memory < leastMemory, l.Memory > 0 && memory+overhead > l.Memory:
		err = fault.New(fault.Refused, "raise [limits] memory, or lower [rung] memory", "a machine with %d MiB does not fit: it needs %d MiB at least, and %d MiB more below the limit of the session", memory>>20, leastMemory>>20, overhead>>20)
	case disk < ext4.Least || disk > ext4.Most:
		err = fault.New(fault.Refused, "[rung] disk = \"8GiB\"", "%w", ext4.ErrSize)
	case cpus < 1 || cpus > 64:
		err = fault.New(fault.Refused, "[rung] cpus = 2", "a machine has 1 to 64 processors")
	}
	return memory, cpus, disk, err
}

// Try implements far.Place.
func (p Place) Try(ctx context.Context) []hostfacts.Result {
	out := []hostfacts.Result{}
	found, err := p.find()
	if err != nil {
		return append(out, rung.Tried(hostfacts.Result{Name: "microvm"}, err))
	}
	defer found.Close()
	sum, err := found.kernel.file.Sum()
	if err == nil {
		err = found.kernel.file.Pinned(sum, p.KernelSum)
	}
	if err == nil && p.ModulesSum != "" {
		_, err = p.keep(found)
	}
	_, other := found.qemu.Below(p.QemuSum)
	out = append(out, rung.Tried(hostfacts.Result{Name: "qemu", Status: hostfacts.OK, Detail: found.qemu.Path}, other),
		rung.Tried(hostfacts.Result{Name: "guest-kernel", Status: hostfacts.OK, Detail: found.kernel.file.Path + ", SHA-256 " + sum}, err))
	if err != nil || other != nil { // it is not booted, not even to try
		return out
	}
	return append(out, p.tryAccel(ctx, found))
}

// errSilent is a guest that does not begin.
var errSilent = errors.New("it did not greet in time")

// patience is how long a guest may take to begin.
func (p Place) patience() time.Duration {
	if p.Accel == tcg {
		return 5 * time.Minute // beside whatever else the processors do
	}
	return time.Minute
}

func silent(err error, last string) error {
	if last == "" {
		last = "nothing"
	}
	return fault.New(fault.Failed, "see `ringfence rungs`; --rung native uses the host's kernel", "the machine does not begin: %w; its last words: %s", err, fmt.Sprint(last))
}
