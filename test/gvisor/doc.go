// Package gvisor runs sessions on the rung of gVisor, with the real runsc, as root and as an
// ordinary user: what a session does there is what it does on the host's kernel.
package gvisor
