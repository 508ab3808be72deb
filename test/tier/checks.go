package tier

import (
	"flag"
	"strconv"
)

// Times is how often something random is played: some times, and all times where every
// combination is played.
func Times(some, all int) int {
	if All() {
		return all
	}
	return some
}

// Checks says how often each property of a package is drawn. The draws differ from run
// to run, so few of them in many runs see as much as many in one. It is for TestMain,
// before the flags are read: -rapid.checks of the command line wins.
func Checks(some, all int) {
	if err := flag.Set("rapid.checks", strconv.Itoa(Times(some, all))); err != nil {
		panic(err)
	}
}
