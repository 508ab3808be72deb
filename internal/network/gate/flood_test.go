package gate

import (
	"fmt"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
)

// A crowd of refusals hides none of another target, and none is lost in the count.
func TestFloodHidesNothing(t *testing.T) {
	var f flood
	now := time.Unix(1000, 0)
	written, stands := map[string]int{}, 0
	refuse := func(name string) {
		r := journal.Record{Via: "dns", Name: name}
		if write, _ := f.take(&r, now); write {
			written[name]++
			stands += max(1, r.Count)
		}
	}
	for i := range 6000 {
		refuse(fmt.Sprintf("junk%d.test", i))
		refuse("same.test")
	}
	refuse("vault.test")
	if written["vault.test"] != 1 || written["junk5999.test"] != 1 || written["same.test"] != 2 {
		t.Errorf("vault %d, junk %d, same %d", written["vault.test"], written["junk5999.test"], written["same.test"])
	}
	for _, r := range f.rest() {
		stands += r.Count
	}
	if stands != 12001 {
		t.Errorf("%d of 12001 refusals are told", stands)
	}
}

// Who floods waits; who does not, does not.
func TestFloodPaces(t *testing.T) {
	var f flood
	now := time.Unix(1000, 0)
	var last time.Duration
	for i := range 1000 {
		r := journal.Record{Name: fmt.Sprint(i)}
		_, last = f.take(&r, now)
		if i < 90 && last > 0 {
			t.Fatalf("refusal %d waits %s", i, last)
		}
	}
	if last < 2*time.Second {
		t.Errorf("the thousandth at once waits %s", last)
	}
	r := journal.Record{Name: "later"}
	if _, pause := f.take(&r, now.Add(time.Minute)); pause > 0 {
		t.Errorf("a minute later it waits %s", pause)
	}
}
