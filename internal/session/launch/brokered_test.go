package launch

import "testing"

// TestBrokered: a host is one secret's, a host that is shut opens nothing, and what somebody
// serves is not shut by another who does not.
func TestBrokered(t *testing.T) {
	var b Brokered
	if err := b.OwnAt("api.test", "8443"); err != nil {
		t.Fatal(err)
	}
	if b.OwnAt("api.test", "") == nil || b.OwnAt("other.test", "x") == nil {
		t.Error("a host of two secrets, or a port that is none, is taken")
	}
	b.Shut("off.test", "it is off")
	b.Closed = append(b.Closed, ShutHost("api.test", "off"), ShutHost("more.test", "off"))
	b.close()
	if got := b.Served(); len(got) != 1 || got[0] != "api.test" || !b.has("more.test") || b.Serves("off.test") {
		t.Errorf("served %q of %+v", got, b.Hosts)
	}
	for _, h := range b.Hosts {
		if (h.Why != "") != h.Ruled {
			t.Errorf("%+v", h)
		}
	}
}
