package stage

import (
	"os"

	"ringfence.dev/ringfence/test/tier"
)

// Mine reports whether the user who plays has the ith of a list that is shared out: root
// plays the even ones, the ordinary user beside him the odd ones. Who is alone plays all,
// and so does everybody where every combination is played.
func Mine(i int) bool {
	switch uid := os.Getuid(); {
	case tier.All():
		return true
	case uid == 0:
		return i%2 == 0
	case uid == ordinaryID:
		return i%2 == 1
	}
	return true
}
