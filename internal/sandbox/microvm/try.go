package microvm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
	"ringfence.dev/ringfence/internal/sandbox/program"
)

// kvmHint says what helps where KVM makes no machine.
const kvmHint = "use a machine with KVM, and be in the group that may open /dev/kvm; or let software make the processor, which is many times slower: --accel tcg"

// tryAccel says what makes the guest's processor. KVM is tried by booting: there are hosts
// whose /dev/kvm can be opened and boots nothing.
func (p Place) tryAccel(ctx context.Context, found *parts) hostfacts.Result {
	if p.accel() == tcg {
		return hostfacts.Result{Name: "accel", Status: hostfacts.Degraded, Detail: "software makes the guest's processor, as policy says: everything is many times slower", Fix: "take [rung] accel out of the policy"}
	}
	unusable := func(why string) hostfacts.Result {
		return hostfacts.Result{Name: "accel", Status: hostfacts.Unusable, Detail: why, Fix: kvmHint}
	}
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return unusable("there is no KVM: " + err.Error())
	}
	f.Close()
	if err := p.bootsOnce(ctx, found); err != nil {
		return unusable("KVM is there, and boots nothing: " + err.Error())
	}
	return hostfacts.Result{Name: "accel", Status: hostfacts.OK, Detail: "KVM: a machine booted"}
}

// bootsOnce boots a bare machine, once for each kernel and each start of the host.
func (p Place) bootsOnce(ctx context.Context, found *parts) error {
	ready, err := p.keep(found)
	if err != nil {
		return err
	}
	now, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return err
	}
	kept := strings.TrimSuffix(ready.kernel.path, ".kernel") + ".kvm"
	if b, err := file.ReadOwn(kept, 1<<10); err == nil && string(b) == string(now) {
		return nil
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // what is started dies with it
		done <- bootBare(ctx, found.qemu, ready)
	}()
	if err := <-done; err != nil {
		return err
	}
	return file.Replace(filepath.Clean(kept), now, 0o600)
}

// bootWithin is how long a machine may take that has nothing to do but to boot.
const bootWithin = 5 * time.Second

func bootBare(ctx context.Context, with *program.File, ready made) error {
	session, err := bare()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bootWithin)
	defer cancel()
	m := machine{accel: kvm, memory: 256, cpus: 1, tell: []string{guest.Probe}, bare: true}
	box := &box{}
	if err := box.launch(ctx, far.Begin{Plan: session}, m, with, ready); err != nil {
		return err
	}
	defer box.Close()
	words := box.console
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if words.said(guest.Booted) {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-words.over:
			if words.said(guest.Booted) {
				return nil
			}
			return errors.New(words.last())
		case <-ctx.Done():
			return errors.New("nothing came within " + bootWithin.String())
		}
	}
}
