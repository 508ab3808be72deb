package settings

import (
	"flag"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

var (
	forTime = flag.Duration("for", 0, "read random files for so long, instead of the fixed seeds")
	first   = flag.Uint64("seed", 1, "the first seed")
)

func TestMain(m *testing.M) { stage.Main(m) }
