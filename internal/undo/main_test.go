package undo

import (
	"os"
	"testing"

	"ringfence.dev/ringfence/test/tier"
)

func TestMain(m *testing.M) {
	tier.Checks(25, 100)
	os.Exit(m.Run())
}
