// Package container proves ringfence inside a Docker container: with the two
// settings that a devcontainer needs everything holds, and without them it refuses
// and names exactly those two.
//
// The engine is Debian's, started by the test in namespaces of its own with a /run
// of its own: it finds no other engine, reaches no network, and what it mounts and
// starts ends with it. Only root can start it. The image is made from nothing but
// a shell of the machine and ringfence itself.
package container
