package policy

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the shipped schema anew")

// The default hundred draws of rapid miss rules that meet in threes.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "1500"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
