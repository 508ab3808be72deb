package policy

import (
	"flag"
	"os"
	"testing"

	"ringfence.dev/ringfence/test/tier"
)

var update = flag.Bool("update", false, "write the shipped schema anew")

// Rules that meet in threes are rare: a hundred draws see them in one run of several.
func TestMain(m *testing.M) {
	tier.Checks(300, 1500)
	flag.Parse()
	os.Exit(m.Run())
}
