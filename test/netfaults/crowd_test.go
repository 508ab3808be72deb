package netfaults

import (
	"testing"
	"time"

	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// The bounds of the product, and of this test.
const (
	maxConns  = 4096 // at once in a session, on each of its two roads
	maxMemory = 200 << 20
	many      = 6_000 // more than are held
)

// TestCrowd: thousands of connections from inside, of each kind. A bounded number is
// held, in bounded memory; another session does not notice, and the session itself is
// served when they are gone. The users share the kinds.
func TestCrowd(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w, "--allow-host", world.Allowed, "--allow-host", world.Allowed+":7", "--allow-host", world.Database+":7")
	other := hand.Start(t, w, "--allow-host", world.Allowed)
	served(t, other, "before")
	pid := s.Cmd.Process.Pid
	t.Logf("before: %d KiB", memory(t, pid, "VmRSS")>>10)
	for i, c := range []struct {
		name, at, say string
		port          uint16 // of the origin, if any is dialled
		n             int64
	}{
		{"idle, relayed", world.Allowed + ":7", "hello", 7, many},
		{"idle, relayed, one address", world.Database + ":7", "hello", 7, many},
		{"half-open, tls", world.Allowed + ":443", "", 443, many},
		{"half-open, proxy", "127.0.0.1:808", "", 0, many},
		{"half-open, resolver", "127.0.0.1:53", "", 0, many},
	} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			stand := int64(0)
			wait.Eventually(t, "a crowd inside", func() bool {
				a := s.Do(order.Order{Do: "crowd", At: c.at, Text: c.say, Keep: c.name, N: c.n, For: 3 * time.Second})
				t.Logf("%d of %d connections stand inside after %s; %s", a.N, c.n, a.Took, a.Text)
				stand += a.N
				return stand >= 1000
			})
			wait.Eventually(t, "the origins are dialled", func() bool { return c.port == 0 || connections(t, c.port) >= maxConns/2 })
			served(t, other, "another session, meanwhile")
			n := connections(t, c.port)
			t.Logf("%d stand to origins", n)
			if n > 2*maxConns {
				t.Errorf("%d stand to origins", n)
			}
			t.Logf("%d KiB, at most %d KiB", memory(t, pid, "VmRSS")>>10, memory(t, pid, "VmHWM")>>10)
			if peak := memory(t, pid, "VmHWM"); peak > maxMemory {
				t.Errorf("the supervisor had %d MiB", peak>>20)
			}
			if a := s.Do(order.Order{Do: "look", At: world.Allowed}); a.Error != "" {
				t.Errorf("a name, meanwhile: %+v", a)
			}
			s.Do(order.Order{Do: "release", Keep: c.name})
			took := wait.Eventually(t, "the session is served again", func() bool {
				return s.Do(order.Order{Do: "get", At: allowedWeb}).Status == 200
			})
			t.Logf("served again after %s", took)
		})
	}
	wait.Eventually(t, "nothing stands to the origin", func() bool {
		return connections(t, 0) == 0
	})
	t.Logf("after: %d KiB", memory(t, pid, "VmRSS")>>10)
}
