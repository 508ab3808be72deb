// Package faults tests what is left of a session that was cut short: killed at
// every step of its start, refused by the kernel at any wall, out of disk,
// hung up on. It drives the real binary as root and as an ordinary user, on a
// stage where whatever stays behind can be seen.
package faults
