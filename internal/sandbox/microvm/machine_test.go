package microvm

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/native"
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

// TestNeverGreets: a machine that says nothing is given up, with the last words of its console for
// the person, and what they could do to a terminal taken out.
func TestNeverGreets(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	said, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	says.WriteString("Kernel panic\x1b[2J - not syncing\n")
	says.Close()
	words := newConsole(said)
	<-words.over
	_, err = (&box{File: r, console: words}).greeting(t.Context(), time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "did not greet in time") || !strings.Contains(err.Error(), "Kernel panic?[2J") {
		t.Errorf("%v", err)
	}
}

// TestLevel: a machine of software is shown as what policy takes it for.
func TestLevel(t *testing.T) {
	below := native.Rung{}.Offer().Level
	if got := (Place{}).Offer(); got.Level <= below || got.Less != "" {
		t.Errorf("by KVM: %s, %q", got.Level, got.Less)
	}
	if got := (Place{Accel: tcg}).Offer(); got.Level != below || got.Less == "" || !strings.Contains(got.Adds, "software") {
		t.Errorf("of software: %s, %q, %q", got.Level, got.Less, got.Adds)
	}
}
