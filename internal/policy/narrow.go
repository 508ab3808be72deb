package policy

import (
	"fmt"
	"slices"
)

// Stricter says why a session in one mode of the network cannot be moved to another; nil if
// that one is stricter.
func Stricter(from, to string) error {
	i, j := slices.Index(modes, from), slices.Index(modes, to)
	switch {
	case j < 0:
		return fmt.Errorf("there is no mode %q: one of %v", to, modes)
	case i < 0 || j > i:
		return fmt.Errorf("mode %s is wider than %s, and a running session only gets stricter: start another one", to, from)
	case j == i:
		return fmt.Errorf("the session is in mode %s already", to)
	}
	return nil
}

// In is the policy with another mode of the network.
func (p *Policy) In(mode string) *Policy {
	if p.Network.Mode != nil && p.Network.Mode.Value == mode {
		return p
	}
	out := *p
	out.Network.Mode = &Rule{Value: mode, Source: Source{File: "ringfence tighten"}}
	return &out
}
