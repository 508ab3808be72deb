package microvm

import (
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm/guest"
)

func FuzzGreeting(f *testing.F) {
	f.Add(guest.Greeting{Kernel: 1, Modules: 20, Furnished: 300}.String())
	f.Add("ringfence-guest 1 0000001 0000020 00003000\n")
	f.Add("ringfence-guest 1 -000001 0000020 0000300\n")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := readGreeting(s)
		if err == nil && (g.String() != s || len(s) != guest.GreetingSize || g.Kernel < 0 || g.Modules < 0 || g.Furnished < 0) {
			t.Errorf("%q is taken for %+v", s, g)
		}
	})
}

func TestGreeting(t *testing.T) {
	said := guest.Greeting{Kernel: 1, Modules: 20, Furnished: 99999999}.String()
	got, err := readGreeting(said)
	if err != nil || got != (guest.Greeting{Kernel: 1, Modules: 20, Furnished: 9999999}) || len(said) != guest.GreetingSize {
		t.Errorf("%+v, %v", got, err)
	}
}
