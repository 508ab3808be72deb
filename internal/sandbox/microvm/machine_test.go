package microvm

import (
	"slices"
	"strings"
	"testing"
)

// TestOverhead: what an emulator in software keeps beside the guest's memory has a bound, and
// fits into what a limit of the session must leave for it.
func TestOverhead(t *testing.T) {
	if translated > overhead/2 {
		t.Errorf("%d MiB of %d MiB are for translated code", translated>>20, overhead>>20)
	}
	for accel, want := range map[string]string{kvm: "kvm", tcg: "tcg,tb-size=128"} {
		argv := qemu{}.argv("qemu", machine{accel: accel, memory: 256, cpus: 1})
		if i := slices.Index(argv, "-accel"); i < 0 || argv[i+1] != want || strings.Contains(strings.Join(argv, " "), "accel=") {
			t.Errorf("%s: %q", accel, argv)
		}
	}
}

// TestMemoryComesBack: the device that tells the host of free memory is there.
func TestMemoryComesBack(t *testing.T) {
	if argv := (qemu{}).argv("qemu", machine{accel: kvm}); !slices.Contains(argv, "virtio-balloon-pci,free-page-reporting=on") {
		t.Errorf("%q", argv)
	}
}
