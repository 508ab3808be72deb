// Package registry proves the registry door end to end: ringfence as it is shipped, real
// package managers inside, and on the host's loopback registries of this test binary
// that count what they are asked for, and lie where they are told to.
//
// Each claim has its control: what the door refuses is had where policy allows it, what
// is not fetched again was fetched once.
package registry
