package netns

import (
	"bytes"
	"net/netip"
	"testing"
)

// The same session gives the same plan: nothing random is in the messages.
func TestMakeIsPure(t *testing.T) {
	a, err := Make([]uint16{5432})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Make([]uint16{5432})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Rules, b.Rules) || len(a.Rules) == 0 {
		t.Errorf("two batches differ: %d and %d bytes", len(a.Rules), len(b.Rules))
	}
	if len(a.Listen) != 6 || a.Listen[5].Port != 5432 {
		t.Errorf("ports %v", a.Listen)
	}
}

// What has a way is every address but those of multicast, broadcast and neighbours, and each
// by one.
func TestEverywhere(t *testing.T) {
	for addr, want := range map[string]int{"0.0.0.0": 1, "10.1.2.3": 1, "127.0.0.1": 1, "192.0.0.1": 1, "223.255.255.255": 1, "240.0.0.1": 1, "255.255.255.254": 1,
		"224.0.0.0": 0, "239.255.255.255": 0, "255.255.255.255": 0, "::1": 1, "2001:db8::1": 1, "fe00::": 1, "fe7f::": 1, "fe80::1": 0, "febf::": 0, "fec0::": 1, "feff::": 1, "ff00::": 0, "ff02::fb": 0} {
		a, got := netip.MustParseAddr(addr), 0
		for _, p := range everywhere(a.Is6()) {
			if p.Contains(a) {
				got++
			}
		}
		if got != want {
			t.Errorf("%s has %d ways, want %d", addr, got, want)
		}
	}
}

// The same over a pair of interfaces: of each family both ends, and the gate's own ports.
func TestOverVeth(t *testing.T) {
	c, err := Make([]uint16{5432})
	if err != nil {
		t.Fatal(err)
	}
	a, err := OverVeth(c)
	if err != nil {
		t.Fatal(err)
	}
	b, err := OverVeth(c)
	if err != nil || !bytes.Equal(a.Rules, b.Rules) || bytes.Equal(a.Rules, c.Rules) || len(a.Routes) > 0 {
		t.Errorf("rules of %d and %d bytes, %d routes (%v)", len(a.Rules), len(b.Rules), len(a.Routes), err)
	}
	if len(a.Veth.Near) != 2 || len(a.Veth.Far) != 2 || len(a.Listen) != len(c.Listen) || a.Gate == c.Gate {
		t.Errorf("%+v", a)
	}
}

func BenchmarkMake(b *testing.B) {
	for b.Loop() {
		if _, err := Make(nil); err != nil {
			b.Fatal(err)
		}
	}
}
