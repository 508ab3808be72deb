package microvm

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
)

// Where an emulator finds things, in its jail.
const (
	kernelAt  = "/machine/kernel"
	archiveAt = "/machine/archive"
	diskAt    = "/machine/disk"
	shareAt   = "/share"
)

// The descriptors of an emulator: the link, and where the console goes.
const (
	linkFD    = 0
	consoleFD = 1
)

// machine is what a guest is made of. There is no network card, no display, no keyboard and
// no port but the link.
type machine struct {
	accel  string // kvm, tcg
	memory int64  // MiB
	cpus   int64
	tell   []string // arguments of the guest's PID 1
	bare   bool     // it only boots: no disk, no share, no link
}

// emulator writes the command line of a machine. Another one than qemu writes another.
type emulator interface {
	argv(path string, m machine) []string
}

// translated bounds what an emulator in software keeps of the code that it translated. It is a part
// of overhead.
const translated = 128 << 20

// qemu is the only one yet.
type qemu struct{}

// parameters are those of the guest's kernel. One that stumbles ends the machine: a kernel that
// goes on after that may hold everything up and answer nobody. Where its processor is made of software, there
// is nothing to mitigate.
func (m machine) parameters() string {
	out := "console=ttyS0 quiet oops=panic panic=-1 reboot=t random.trust_cpu=on tsc=reliable no_timer_check rdinit=" + guest.Name
	if m.accel == tcg {
		out += " mitigations=off"
	}
	return out + " -- " + strings.Join(m.tell, " ")
}

// argv implements emulator. What the guest does not need, it does not have: each device is
// code that the guest can talk to. A write that this machine cannot do stops the guest for good: it
// would lose bytes that its programs believe to be written, and go on with others in their place.
func (qemu) argv(path string, m machine) []string {
	cpu, accel := "host", m.accel
	if m.accel == tcg { // what is translated is kept in memory: without a bound, in a gigabyte of it
		cpu, accel = "max", fmt.Sprintf("tcg,tb-size=%d", translated>>20)
	}
	out := []string{path, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none",
		"-machine", "q35,usb=off,vmport=off,smbus=off,sata=off,hpet=off,graphics=off,dump-guest-core=off", "-accel", accel, "-cpu", cpu,
		"-m", fmt.Sprint(m.memory), "-smp", fmt.Sprint(m.cpus),
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-kernel", kernelAt, "-initrd", archiveAt, "-append", m.parameters(),
		"-chardev", fmt.Sprintf("file,id=console,path=/proc/self/fd/%d", consoleFD), "-serial", "chardev:console"}
	if m.bare {
		return out
	}
	return append(out,
		"-device", "virtio-serial-pci,max_ports=2", "-chardev", fmt.Sprintf("socket,id=link,fd=%d", linkFD), "-device", "virtserialport,chardev=link,name="+guest.Port,
		"-fsdev", "local,id=share,path="+shareAt+",security_model=none,readonly=on,multidevs=remap", "-device", "virtio-9p-pci,fsdev=share,mount_tag="+guest.Share,
		"-drive", "file="+diskAt+",if=none,id=disk,format=raw,cache=unsafe,aio=threads,discard=unmap,werror=stop,rerror=report", "-device", "virtio-blk-pci,drive=disk",
		"-object", "rng-builtin,id=random", "-device", "virtio-rng-pci,rng=random",
		"-device", "virtio-balloon-pci,free-page-reporting=on")
}
