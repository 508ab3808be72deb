package probe

import (
	"os"

	"golang.org/x/sys/unix"
)

// Kernel is what a kernel says of itself, as digests. Two of one build say the same of
// their build; of their start no two do.
type Kernel struct {
	Start string `json:"start,omitempty"` // empty: it does not say
	Build string `json:"build"`
}

// OwnKernel asks the kernel that answers us.
func OwnKernel() (k Kernel, err error) {
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		k.Start = Digest(b)
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return k, err
	}
	k.Build = Digest(append(u.Release[:], u.Version[:]...))
	return k, nil
}

// kernel wants one that is not the host's. A mount could hide what the host's says: who
// looks from outside must not find us among its processes.
func kernel(t *Target) Result {
	const name = "kernel"
	k, err := OwnKernel()
	switch {
	case err != nil:
		return open(name, "%v", err)
	case k.Start != "" && k.Start == t.Kernel.Start:
		return open(name, "the kernel that answers was started with the host's")
	case k.Start != "" && t.Kernel.Start != "":
		return closed(name, "the kernel that answers was started by itself")
	case k.Build == t.Kernel.Build:
		return open(name, "the kernel that answers is built as the host's, and does not say when it was started")
	}
	return closed(name, "the kernel that answers is another build")
}
