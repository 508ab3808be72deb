package work

import (
	"testing"

	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// On the native rung it is all the same.
func native(t *testing.T) *Fixture { return New(t, "native", "") }

func TestWork(t *testing.T)     { Work(t, native) }
func TestAttacked(t *testing.T) { Attacked(t, native) }
func TestDays(t *testing.T)     { Days(t, native) }
