//go:build ringfence_loop && !ringfence_ours

package ladder

// ours is false: what the far end says of its walls is its word.
const ours = false
