// Package microvm proves the rung of that name under software emulation, with Debian's own
// kernel: sessions, every check of verify, and attacks of somebody who is root in the guest.
package microvm
