package sessions

import (
	"bytes"
	"testing"

	"ringfence.dev/ringfence/internal/session/control"
)

// TestServersAreCounted: an agent that listens at every port fills no screen.
func TestServersAreCounted(t *testing.T) {
	all := make([]control.Server, 1000)
	all[999].Published = 8080
	var out bytes.Buffer
	showServers(&out, all)
	if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != maxShownServers+2 || !bytes.Contains(out.Bytes(), []byte("and 991 ports more")) || !bytes.Contains(out.Bytes(), []byte("localhost:8080")) {
		t.Errorf("%d lines:\n%s", lines, out.String())
	}
}
