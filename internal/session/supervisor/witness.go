package supervisor

import (
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/witness"
)

// witness takes down what runs below the agent, and judges the walls.
func (l *live) witness(seen rung.Seen) error {
	l.program = seen.Program
	return witness.Judge(l.session.Rung.Offer().Raised())(seen)
}
