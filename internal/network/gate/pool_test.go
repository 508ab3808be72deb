package gate

import (
	"fmt"
	"net/netip"
	"testing"

	"ringfence.dev/ringfence/internal/address"
)

func TestPoolNamesAreTheirOwn(t *testing.T) {
	p := newPool()
	a4, a6 := p.give("a.test")
	b4, b6 := p.give("b.test")
	if again, _ := p.give("a.test"); again != a4 {
		t.Errorf("a.test was %s and is %s", a4, again)
	}
	for addr, want := range map[netip.Addr]address.Name{a4: "a.test", a6: "a.test", b4: "b.test", b6: "b.test"} {
		if got, ok := p.name(addr); !ok || got != want {
			t.Errorf("%s stands for %q, want %q", addr, got, want)
		}
	}
	for _, s := range []string{"198.18.0.0", "198.18.5.5", "198.17.255.255", "198.20.0.0", "2001:2::", "2001:2::ffff", "2001:2:0:1::1", "2001:2:0:0:1::1", "8.8.8.8", "::1"} {
		if got, ok := p.name(netip.MustParseAddr(s)); ok {
			t.Errorf("%s stands for %q", s, got)
		}
	}
}

// However many names are asked for, memory is bounded, and an address that was given
// before never stands for another name soon after.
func TestPoolForgets(t *testing.T) {
	p := newPool()
	first, _ := p.give("first.test")
	var last netip.Addr
	for i := range poolLive + 10 {
		last, _ = p.give(address.Name(fmt.Sprintf("n%d.test", i)))
	}
	if n, ok := p.name(first); ok {
		t.Errorf("%s still stands for %q", first, n)
	}
	if n, ok := p.name(last); !ok || n != address.Name(fmt.Sprintf("n%d.test", poolLive+9)) {
		t.Errorf("the last stands for %q", n)
	}
	if len(p.names) != poolLive || len(p.at) != poolLive {
		t.Errorf("%d names, %d addresses are remembered", len(p.names), len(p.at))
	}
}
