package guest

import "testing"

func FuzzGreeting(f *testing.F) {
	f.Add(Greeting{1, 20, 300}.String())
	f.Add("ringfence-guest 1 0000001 0000020 00003000\n")
	f.Add("ringfence-guest 1 -000001 0000020 0000300\n")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ReadGreeting(s)
		if err == nil && (g.String() != s || len(s) != GreetingSize || g.Kernel < 0 || g.Modules < 0 || g.Furnished < 0) {
			t.Errorf("%q is taken for %+v", s, g)
		}
	})
}

func TestGreeting(t *testing.T) {
	want := Greeting{1, 20, 99999999}
	got, err := ReadGreeting(want.String())
	if err != nil || got != (Greeting{1, 20, 9999999}) || len(want.String()) != GreetingSize {
		t.Errorf("%+v, %v", got, err)
	}
}
