// Package clients lets programs that people use go through the gate as they are:
// with no proxy set, each reaches the host that a rule allows, and is denied another
// one and an address without a name. Every denial has its control: outside, the same
// command reaches the same place. What the gate did must stand in the journal, and
// what it must not do is looked for on the cable (package world).
package clients
