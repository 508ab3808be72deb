package tier

import (
	"flag"
	"strconv"
)

// Checks says how often each property of a package is drawn: some times, and all times
// where every combination is played. The draws differ from run to run, so few of them in
// many runs see as much as many in one. It is for TestMain, before the flags are read:
// -rapid.checks of the command line wins.
func Checks(some, all int) {
	if All() {
		some = all
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(some)); err != nil {
		panic(err)
	}
}
