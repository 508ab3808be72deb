package grants

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// TestNoteIsRenewed: what the agent is told follows grants, their end, ports and masks. It
// cannot write there itself.
func TestNoteIsRenewed(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	says := func(text string) bool {
		t.Helper()
		a := s.Do(order.Order{Do: "file", At: launch.NotePath})
		if a.Error != "" || !strings.HasPrefix(a.Text, "# Your sandbox\n") || !strings.HasSuffix(a.Text, "around the sandbox.\n") {
			t.Fatalf("%+v", a)
		}
		return strings.Contains(a.Text, text)
	}
	if says(world.Allowed) || says("3100") || says("late.env") {
		t.Fatal("it knows before")
	}
	if r := s.Grant("--host", world.Allowed, "--for", "2s"); r.Status != 0 {
		t.Fatalf("%+v", r)
	}
	if !says("granted since you began:\n\n- `\"" + world.Allowed) {
		t.Error("a grant is not told")
	}
	if r := s.Grant("--host", world.Other); r.Status != 0 || !says(world.Other) {
		t.Errorf("a second grant is not told: %+v", r)
	}
	wait.Eventually(t, "the end of the grant is told", func() bool { return !says(world.Allowed) })
	if !says(world.Other) {
		t.Error("the other went with it")
	}
	if r := s.Publish("3100"); r.Status != 0 || !says("`3100`") {
		t.Errorf("a port is not told: %+v", r)
	}
	w.Put("late.env", []byte("PASSWORD=correct-horse-battery\n"), 0o600)
	wait.Eventually(t, "the mask is told", func() bool { return says("late.env") })
}
