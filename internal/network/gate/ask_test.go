package gate

import (
	"fmt"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/address"
)

func wanted(name string) address.Target { return address.Target{Name: address.Name(name), Port: 443} }

// TestFloodOfNames: who asks for many names makes no older request forgotten, takes no
// more room, and every refusal is counted.
func TestFloodOfNames(t *testing.T) {
	var g Gate
	a := &g.asks
	a.init(time.Minute)
	a.note(wanted("first.test"))
	const below, domains = 10000, 2000
	for i := range below {
		a.note(wanted(fmt.Sprintf("n%d.flood.test", i)))
	}
	for i := range domains {
		a.note(wanted(fmt.Sprintf("d%d.test", i)))
	}
	p, _, ok := a.enter(wanted("asked.late.test"))
	if !ok {
		t.Fatal("a person is not asked after a flood")
	}
	list := g.Pending()
	if list[0].Name != "first.test" || len(list) != maxPending+1 {
		t.Errorf("%d are listed, the first is %s", len(list), list[0].Name)
	}
	a.leave(p, false)
	counted, flood := 0, 0
	for _, p := range g.Pending() {
		counted += p.Refused
		if p.Domain == "flood.test" {
			flood++
		}
	}
	for _, o := range g.Others() {
		counted += o.Refused
	}
	if want := 1 + below + domains + 1; counted != want {
		t.Errorf("%d of %d refusals are counted", counted, want)
	}
	if n := len(g.Pending()); flood != maxOfDomain || n != maxPending || len(a.each) > maxPending || len(a.others) > maxPending+1 {
		t.Errorf("%d of the domain, %d in all, %d domains, %d others", flood, n, len(a.each), len(a.others))
	}
}
