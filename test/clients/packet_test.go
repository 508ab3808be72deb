package clients

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/world"
)

func sawProto(w *world.World, proto string) bool {
	return slices.ContainsFunc(w.Dialled(), func(p world.Packet) bool { return p.Proto == proto })
}

// TestUDPIsRefusedAtOnce: a client that would rather speak QUIC falls back at once,
// because it is told, and does not wait for an answer that never comes.
func TestUDPIsRefusedAtOnce(t *testing.T) {
	w := world.New(t)
	w.Bring("client")
	for _, to := range []string{"203.0.113.10:443", "[2001:db8::10]:443", "10.0.0.1:123", "allowed.test:443"} {
		w.Forget()
		w.Bare("./client", "udp", to)
		if !sawProto(w, "udp") {
			t.Errorf("control: %s gets no packet from outside", to)
		}
		w.Forget()
		r := w.Run("--allow-host", world.Allowed, "--", "./client", "udp", to)
		if r.Status != 1 || !strings.Contains(r.Stderr, "refused: ") {
			t.Errorf("%s: not refused: %+v", to, r)
		}
		if sawProto(w, "udp") {
			t.Errorf("%s got a packet", to)
		}
	}
}

// TestNoPing: no kind of socket sends an echo request.
func TestNoPing(t *testing.T) {
	w := world.New(t)
	w.Bring("client")
	for _, to := range []string{"203.0.113.10", "2001:db8::10"} {
		w.Forget()
		if r := w.Bare("./client", "ping", to); !strings.Contains(r.Stdout, ": sent") || !sawProto(w, "icmp") {
			t.Errorf("control: no ping from outside: %+v", r)
		}
		w.Forget()
		r := w.Run("--allow-host", world.Allowed, "--", "./client", "ping", to)
		if r.Status != 0 || strings.Count(r.Stdout, "\n") != 2 || strings.Contains(r.Stdout, ": sent") {
			t.Errorf("%s: %+v", to, r)
		}
		if sawProto(w, "icmp") {
			t.Errorf("%s got a packet", to)
		}
	}
}
