// Package vm proves ringfence on a kernel that the test machine does not have:
// Debian's own, as packaged, under software emulation. There every controller is
// in cgroup v2, and what a boot parameter takes away is really not there.
//
// The emulated machine has no disk and no network. It boots from an archive made
// here, which holds ringfence and one other program (guest), and takes commands over
// a serial line. Neither root nor an installed kernel is needed: the package is
// downloaded with apt-get, as any user may, and only the kernel and the modules that
// the gate needs are taken from it. The kernel asks for those itself, as it does on
// any Debian.
//
// The machine is a PC, so the tests are for amd64 alone.
package vm
