//go:build cgo

package sys

// Cgo is true in a build that cannot make a call on all of its threads.
const Cgo = true
