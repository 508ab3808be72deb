//go:build ringfence_loop && ringfence_ours

package ladder

// ours lets the far end of the loop be a witness, as that in a machine of ours is: see far.End.
const ours = true
