// Package engine proves the rung of containers: ringfence on a host that has a container
// engine, which is Debian's Docker, or its Podman (package daemon). It stands on the stage, in a
// network of its own without a way out, and ends with the stage. Only root can start it.
package engine
