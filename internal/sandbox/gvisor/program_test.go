package gvisor

import (
	"os"
	"strings"
	"testing"
)

// TestTested: what people are told to get is what the tests run with.
func TestTested(t *testing.T) {
	b, err := os.ReadFile("../../../tools/runsc/go.mod")
	if err != nil || !strings.Contains(string(b), "gvisor.dev/gvisor "+Tested) {
		t.Errorf("tools/runsc/go.mod has another version than %s (%v)", Tested, err)
	}
}
