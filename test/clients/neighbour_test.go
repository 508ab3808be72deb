package clients

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/world"
)

// A neighbour on the host's own link is internal, though its address is public: every
// device of a home network has such an address of IPv6. One is allowed by its address.
func TestNeighbour(t *testing.T) {
	w := world.New(t)
	for _, c := range []struct{ name, addr, rule string }{
		{"near4.test", world.Router4, world.Router4 + ":80"},
		{"near6.test", world.Router6, "[" + world.Router6 + "]:80"},
	} {
		w.Answer(c.name, []string{c.addr})
		get := []string{"curl", "-sS", "-m8", "http://" + c.name + "/"}
		if r := w.Bare(get...); !strings.Contains(r.Stdout, "origin") {
			t.Fatalf("control: %s is not reached: %+v", c.addr, r)
		}
		w.Forget()
		r := w.Run(append([]string{"--allow-host", c.name, "--"}, get...)...)
		if !strings.Contains(r.Stdout, "own network") {
			t.Errorf("%s: %+v", c.addr, r)
		}
		for _, p := range w.Dialled() {
			if p.Proto == "tcp" && p.Port == 80 {
				t.Errorf("dialled %+v", p)
			}
		}
		r = w.Run(append([]string{"--allow-host", c.name, "--allow-ip", c.rule, "--"}, get...)...)
		if !strings.Contains(r.Stdout, "origin") {
			t.Errorf("%s is not reached although it is allowed: %+v", c.addr, r)
		}
	}
}
