// Package engine proves the rung of containers: ringfence on a host that has a Docker
// engine. The engine is Debian's. It stands on the stage, in a network of its own without
// a way out, and ends with the stage. Only root can start it.
package engine
