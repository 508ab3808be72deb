package gitoracle

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

var (
	forTime = flag.Duration("for", 0, "play random sessions for so long, instead of the fixed seeds")
	seeds   = flag.Int("seeds", 24, "how many of the fixed seeds are played")
	first   = flag.Uint64("seed", 1, "the first seed")
)

// started is when this half of the run began.
var started = time.Now()

func TestMain(m *testing.M) {
	if os.Getenv(watchedEnv) != "" {
		fmt.Fprintln(os.Stderr, "watched:", becomeWatched())
		os.Exit(1)
	}
	stage.Main(m)
}
