package policy

import (
	"strings"
	"testing"
)

// TestMachineIsNoProjects: which kernel, emulator, processor and sizes a virtual machine has is
// no matter of a project's file, trusted or not; each that it names is told once. A ceiling has
// the last word.
func TestMachineIsNoProjects(t *testing.T) {
	text := "[rung]\nqemu = \"/x/qemu\"\nkernel = \"/x/vmlinuz-1\"\naccel = \"tcg\"\nmemory = \"1GiB\"\ncpus = 3\ndisk = \"1GiB\"\n"
	theirs, err := Decode(strings.NewReader(text), "project")
	if err != nil {
		t.Fatal(err)
	}
	for _, trusted := range []bool{false, true} {
		p, _ := Resolve(Layers{User: &Policy{}, Project: theirs, ProjectTrusted: trusted})
		if r := p.Rung; r.Qemu != nil || r.Kernel != nil || r.Accel != nil || r.Memory != nil || r.CPUs != nil || r.Disk != nil {
			t.Errorf("trusted %v: %+v", trusted, r)
		}
	}
	told := map[string]int{}
	for _, c := range Widens(&Policy{}, theirs) {
		told[c.Key]++
	}
	for _, key := range []string{"qemu", "kernel", "accel", "memory", "cpus", "disk"} {
		if told[key] != 1 {
			t.Errorf("%s is told %d times", key, told[key])
		}
	}
	own, err := Decode(strings.NewReader("[rung]\nmemory = \"8GiB\"\n"), "user")
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := Resolve(Layers{User: own, Ceiling: theirs}); p.Rung.Memory.Number() != 1<<30 || p.Rung.Accel.Text() != SoftwareAccel {
		t.Errorf("under a ceiling: %+v", p.Rung)
	}
}
