package journal

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

func end(name string, sent, received int64) Record {
	return Record{Event: End, Name: name, Verdict: Allow, Sent: sent, Received: received}
}

func denial(name, reason string) Record {
	return Record{Event: Decision, Name: name, Verdict: Deny, Reason: reason}
}

func TestTally(t *testing.T) {
	var tally Tally
	if top := tally.Top(5); len(top) != 0 {
		t.Errorf("empty: %v", top)
	}
	for _, r := range []Record{
		end("b.test", 10, 20), end("b.test", 1, 2), end("a.test", 5, 0),
		{Event: Decision, Name: "b.test", Via: "dns", Verdict: Allow}, {Event: Decision, Name: "b.test", Verdict: Allow},
		{Event: Request, Name: "w.test", Verdict: Wait}, {Event: Gate, State: Closed}, {Event: End, Verdict: Allow, Sent: 9},
		denial("x.test", "first"), denial("x.test", "last"), denial("y.test", "no rule"), denial("a.test", "method"),
		{Event: Decision, Name: "y.test", Verdict: Deny, Reason: "no rule", Count: 4},
		{Event: End, Name: "x.test", Verdict: Deny},
		{Event: End, Addr: "192.0.2.1", Port: 22, Sent: 3}, {Event: End, Addr: "2001:db8::1", Port: 22, Received: 2},
		{Event: End, Addr: "odd", Port: 22, Received: 1},
	} {
		tally.Add(r)
	}
	want := []Line{
		{Host: "b.test", Conns: 2, Sent: 11, Received: 22},
		{Host: "a.test", Conns: 1, Sent: 5, Denied: 1, Reason: "method"},
		{Host: "192.0.2.1:22", Conns: 1, Sent: 3},
		{Host: "[2001:db8::1]:22", Conns: 1, Received: 2},
		{Host: "odd:22", Conns: 1, Received: 1},
		{Host: "y.test", Denied: 5, Reason: "no rule"},
		{Host: "x.test", Denied: 2, Reason: "last"},
	}
	for _, n := range []int{7, 8, 100} {
		if got := tally.Top(n); !slices.Equal(got, want) {
			t.Errorf("top %d: %+v", n, got)
		}
	}
	others := Line{Others: true, Conns: 3, Sent: 3, Received: 3, Denied: 7, Reason: "no rule"}
	if got := tally.Top(3); !slices.Equal(got, append(slices.Clone(want[:2]), others)) {
		t.Errorf("top 3: %+v", got)
	}
	if got := tally.Top(0); got != nil {
		t.Errorf("top 0: %+v", got)
	}
}

// What the broker sends is counted once, although the agent's connection to it counts too.
func TestTallyOfBroker(t *testing.T) {
	asked := func(name string, sent, received int64) Record {
		return Record{Kind: Broker, Event: End, Name: name, Sent: sent, Received: received}
	}
	inner := func(name string, sent, received int64) Record {
		r := end(name, sent, received)
		r.State = Brokered
		return r
	}
	var tally Tally
	for _, r := range []Record{
		{Kind: Broker, Event: Use, Name: "model.test", Verdict: Allow}, asked("model.test", 100, 20), asked("model.test", 1, 2),
		inner("forge.test", 70, 70), asked("forge.test", 50, 10), inner("forge.test", 7, 7), asked("forge.test", 1, 1), end("forge.test", 1000, 1000),
	} {
		tally.Add(r)
	}
	want := []Line{{Host: "forge.test", Conns: 3, Requests: 2, Sent: 1051, Received: 1011}, {Host: "model.test", Requests: 2, Sent: 101, Received: 22}}
	if got := tally.Top(5); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := tally.Top(1); !slices.Equal(got, []Line{{Others: true, Conns: 3, Requests: 4, Sent: 1152, Received: 1033}}) {
		t.Errorf("others %+v", got)
	}
}

// TestTallyBounds: no flood of names hides a host to which something was sent,
// takes memory without end, or loses a count.
func TestTallyBounds(t *testing.T) {
	var tally Tally
	long := strings.Repeat("x", 1<<10)
	for i := range 2 * maxHosts {
		tally.Add(denial(fmt.Sprint(i, ".test", long), long))
	}
	if len(tally.hosts) != maxDenied {
		t.Errorf("%d lines of denied hosts", len(tally.hosts))
	}
	tally.Add(end("0.test"+long, 0, 0)) // no longer only denied
	tally.Add(denial("late.test", ""))
	if tally.hosts["late.test"] == nil {
		t.Error("a host that was only denied keeps its place after a connection")
	}
	for i := range 2 * maxHosts {
		tally.Add(end(fmt.Sprint(i, ".end.test"), 1, 0))
	}
	tally.Add(end("0.end.test", math.MaxInt64, math.MaxInt64))
	tally.Add(end("1.end.test", -5, 5))
	top := tally.Top(3)
	if len(tally.hosts) != maxHosts || len(top) != 3 || top[0].Host != "0.end.test" || top[0].Sent != math.MaxInt64 ||
		top[1].Host != "1.end.test" || top[1].Sent != 1 || top[1].Received != 5 || !top[2].Others {
		t.Errorf("%d lines, top %+v", len(tally.hosts), top)
	}
	conns, denied := 0, 0
	for _, l := range tally.Top(math.MaxInt) {
		conns, denied = conns+l.Conns, denied+l.Denied
		if len(l.Host) > maxText || len(l.Reason) > maxText {
			t.Fatalf("a line of %d and %d bytes", len(l.Host), len(l.Reason))
		}
	}
	if conns != 2*maxHosts+3 || denied != 2*maxHosts+1 {
		t.Errorf("%d connections, %d denials", conns, denied)
	}
}

func TestTallyConcurrent(t *testing.T) {
	var tally Tally
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				tally.Add(end("a.test", 1, 1))
				tally.Top(1)
			}
		})
	}
	wg.Wait()
	if got := tally.Top(1); len(got) != 1 || got[0].Conns != 400 {
		t.Errorf("%+v", got)
	}
}
