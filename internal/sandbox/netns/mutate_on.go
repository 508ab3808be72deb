//go:build ringfence_mutate

package netns

import (
	"bytes"
	"encoding/binary"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Mutate takes away the chain that refuses what is not TCP, or nftables itself: no kernel
// has a subsystem of that number.
func Mutate(c *plan.Capture, m string) {
	switch m {
	case "refuse":
		c.Rules = withoutChain(c.Rules, m)
	case "nftables":
		c.Rules[19] = 0x7f
	}
}

// withoutChain leaves the messages about a chain out of an nftables batch.
func withoutChain(batch []byte, chain string) (out []byte) {
	for len(batch) > 0 {
		size := (int(binary.NativeEndian.Uint32(batch)) + 3) &^ 3
		if !bytes.Contains(batch[:size], []byte(chain+"\x00")) {
			out = append(out, batch[:size]...)
		}
		batch = batch[size:]
	}
	return out
}
