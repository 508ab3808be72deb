// Package mutate proves that `ringfence verify` can fail: a test build of the real
// binary leaves one defence out at a time, on every rung, and the checks of that defence, and
// no others, must report missing. What verify says of the real build on every rung is
// compared with docs/rungs.md. It has no code outside of its tests.
package mutate
