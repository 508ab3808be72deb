package stage

import (
	"os"

	"ringfence.dev/ringfence/test/tier"
)

// Mine reports whether it is this user who plays the i-th of the ways to play a case:
// root those with an even number, the ordinary user the others, so that together they
// play each. Who plays alone plays all, and so does everybody under `make test-all`.
//
// It is for what is the same for both. Where they get to it by different means, which
// is mounts, namespaces, masks and the keeper, both play it.
func Mine(i int) bool {
	uid := os.Getuid()
	alone := os.Getenv(aloneEnv) != "" || uid != 0 && uid != ordinaryID
	return tier.All() || alone || (i%2 == 0) == (uid == 0)
}
