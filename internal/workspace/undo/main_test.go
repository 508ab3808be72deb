package undo

import (
	"flag"
	"os"
	"testing"

	"ringfence.dev/ringfence/test/tier"
)

func TestMain(m *testing.M) {
	tier.Checks(25, 100)
	flag.Parse()
	if bench := flag.Lookup("test.bench"); bench.Value.String() == "" {
		skip := func(fd int) error { return nil }
		toDisk, allToDisk = skip, skip
	}
	os.Exit(m.Run())
}
