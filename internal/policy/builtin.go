package policy

import (
	_ "embed"
	"fmt"
)

//go:embed builtin.toml
var builtin []byte

// Builtin returns the layer that every other one is laid over. Each call returns
// a policy of its own.
func Builtin() *Policy {
	p, err := decode(builtin, "built-in")
	if err != nil {
		panic(fmt.Sprintf("the embedded policy: %v", err)) // a test decodes it
	}
	return p
}
