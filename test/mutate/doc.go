// Package mutate proves that `ringfence verify` can fail: a test build of the real
// binary leaves one defence out at a time, and the checks of that defence, and no
// others, must report missing. It has no code outside of its tests.
package mutate
