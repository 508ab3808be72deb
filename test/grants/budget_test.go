package grants

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

const (
	budget  = 200_000
	beyond  = 3_000_000
	ours4   = "203.0.113.10" // of Allowed
	ours6   = "2001:db8::10"
	payload = 100_000 // fits
)

const budgetPolicy = "[network.budget]\n\"" + world.Allowed + "\" = \"200KB\"\n"

// arrived is how much the origin of the budget's host got.
func arrived(w *world.World) (n int64) {
	for _, h := range w.Heard() {
		if h.Addr == netip.MustParseAddr(ours4) || h.Addr == netip.MustParseAddr(ours6) {
			n += h.Bytes
		}
	}
	return n
}

// uploads are the ways to send something to a host: the order's text, the port, and a
// rule that allows it.
var uploads = []struct{ name, at, rule string }{
	{"raw", world.Allowed + ":9", world.Allowed + ":9"},
	{"http", world.Allowed, world.Allowed},
	{"chunked", world.Allowed, world.Allowed},
	{"h2c", world.Allowed, "tcp://" + world.Allowed + ":80"},
	{"https", world.Allowed, world.Allowed},
	{"absolute", world.Allowed, world.Allowed},
	{"connect", world.Allowed + ":9", world.Allowed + ":9"},
	{"connect-https", world.Allowed, world.Allowed},
}

// TestBudget: an upload that fits arrives, one that does not is cut, and never does
// the origin get more than the budget. The users share the ways.
func TestBudget(t *testing.T) {
	for i, u := range uploads {
		if !stage.Mine(i) {
			continue
		}
		t.Run(u.name, func(t *testing.T) {
			w := world.New(t)
			hand.Config(t, w, "policy.toml", budgetPolicy)
			s := hand.Start(t, w, "--allow-host", u.rule)
			if a := s.Do(order.Order{Do: "upload", At: u.at, Text: u.name, N: payload}); a.Error != "" || len(strings.TrimSpace(a.Text)) != 64 {
				t.Errorf("an upload that fits: %+v", a)
			}
			before := arrived(w)
			a := s.Do(order.Order{Do: "upload", At: u.at, Text: u.name, N: beyond})
			if a.Error == "" && a.Status != 403 && a.Status != 413 {
				t.Errorf("an upload that does not fit: %+v", a)
			}
			if a.Error == "" && !strings.Contains(a.Text, "budget") {
				t.Errorf("the client is not told why: %+v", a)
			}
			if a.Took > wait.Patience {
				t.Errorf("it is cut only after %s", a.Took)
			}
			got := arrived(w)
			if got > budget || got < payload {
				t.Errorf("%d bytes arrived, %d are allowed", got, budget)
			}
			s.Do(order.Order{Do: "upload", At: u.at, Text: u.name, N: beyond})
			if again := arrived(w); again > budget {
				t.Errorf("%d bytes arrived at the next try", again)
			}
			s.Stop()
			i := slices.IndexFunc(w.Journal(), func(r journal.Record) bool {
				return r.Name == world.Allowed && r.Verdict == journal.Deny && strings.Contains(r.Reason, "budget")
			})
			if i < 0 {
				t.Fatalf("not in the journal: %+v", w.Journal())
			}
			var sent int64
			for _, r := range w.Journal() {
				sent += r.Sent
			}
			t.Logf("%d of %d bytes arrived before the cut, %d in all, the journal counts %d; the client saw %q", got-before, budget, arrived(w), sent, a.Error)
			if sent < arrived(w) || sent > budget { // what was under way at the cut did not arrive
				t.Errorf("the journal counts %d bytes, the origin %d", sent, arrived(w))
			}
		})
	}
}

// TestBudgetShared: all connections of a session spend the same budget, in parallel
// and by whatever way; another session has its own.
func TestBudgetShared(t *testing.T) {
	w := world.New(t)
	hand.Config(t, w, "policy.toml", budgetPolicy)
	flags := []string{"--allow-host", world.Allowed, "--allow-host", world.Allowed + ":9"}
	s := hand.Start(t, w, flags...)
	var due []<-chan order.Answer
	for i := range 8 {
		u := uploads[i%len(uploads)]
		due = append(due, s.Begin(order.Order{Do: "upload", At: u.at, Text: u.name, N: payload}))
	}
	good := 0
	for _, c := range due {
		if a := s.Wait(c); a.Error == "" && len(strings.TrimSpace(a.Text)) == 64 {
			good++
		}
	}
	got := arrived(w)
	t.Logf("%d bytes of %d arrived over 8 connections at once, %d of them whole", got, budget, good)
	if got > budget || good*payload > budget { // two that send nothing but the payload fit exactly
		t.Errorf("%d bytes arrived, %d uploads were whole", got, good)
	}
	w.Forget()
	two := hand.Start(t, w, flags...)
	if a := two.Do(order.Order{Do: "upload", At: world.Allowed, Text: "http", N: payload}); a.Error != "" {
		t.Errorf("another session: %+v", a)
	}
}

// TestBudgetOthers: a budget is for the host that it names; and what comes from that
// host costs nothing.
func TestBudgetOthers(t *testing.T) {
	w := world.New(t)
	hand.Config(t, w, "policy.toml", budgetPolicy)
	s := hand.Start(t, w, "--allow-host", world.Allowed, "--allow-host", world.Other, "--allow-host", "*."+world.Allowed)
	if a := s.Do(order.Order{Do: "upload", At: world.Other, Text: "http", N: beyond}); a.Error != "" {
		t.Errorf("another host: %+v", a)
	}
	if a := s.Do(order.Order{Do: "upload", At: "x." + world.Allowed, Text: "https", N: beyond}); a.Error != "" {
		t.Errorf("a name below: %+v", a)
	}
	if a := s.Do(order.Order{Do: "get", At: fmt.Sprintf("http://%s/bytes/%d", world.Allowed, 5*budget)}); a.Status != 200 || a.Error != "" {
		t.Errorf("a download: %+v", a)
	}
	if a := s.Do(order.Order{Do: "upload", At: world.Allowed, Text: "https", N: beyond}); a.Error == "" {
		t.Errorf("the host itself: %+v", a)
	}
	if a := s.Do(order.Order{Do: "upload", At: world.Other, Text: "https", N: beyond}); a.Error != "" {
		t.Errorf("another host, afterwards: %+v", a)
	}
}

// TestBudgetRetry: what a client may send before its second ClientHello counts too. The
// origin plays along: it always wants another one.
func TestBudgetRetry(t *testing.T) {
	w := world.New(t)
	hand.Config(t, w, "policy.toml", "[network.budget]\n\"retry.test\" = \"200KB\"\n")
	const at = "203.0.113.41:8443"
	w.Answer("retry.test", []string{"203.0.113.41"})
	log := filepath.Join(world.Net, "retry.log")
	os.Remove(log)
	w.Serve(at, world.Program(hand.Puppet), "origin", "retry", at, log)
	s := hand.Start(t, w, "--allow-host", "https://retry.test:8443")
	for range 4 {
		s.Do(order.Order{Do: "upload", At: "retry.test:8443", Text: "retried", N: 900_000})
	}
	s.Stop()
	var got int64
	var b []byte
	wait.Eventually(t, "the origin has seen the end of all", func() bool {
		b, _ = os.ReadFile(log)
		ends := strings.Count(string(b), "end ")
		return ends > 1 && ends == strings.Count(string(b), "open ") // the first is the world's own
	})
	for line := range strings.Lines(string(b)) {
		var i, n int64
		if _, err := fmt.Sscanf(line, "end %d after %d bytes", &i, &n); err == nil {
			got += n
		}
	}
	t.Logf("%d of %d bytes arrived", got, budget)
	if got > budget {
		t.Errorf("%d bytes arrived:\n%s", got, b)
	}
	if got == 0 {
		t.Errorf("control: nothing arrived at all:\n%s", b)
	}
}

// TestBudgetGrant: a grant of the host does not lift its budget.
func TestBudgetGrant(t *testing.T) {
	w := world.New(t)
	hand.Config(t, w, "policy.toml", budgetPolicy)
	s := hand.Start(t, w)
	s.Grant("--host", world.Allowed)
	s.Grant("--host", world.Allowed+":443", "--for", "1h")
	for range 3 {
		s.Do(order.Order{Do: "upload", At: world.Allowed, Text: "https", N: beyond})
	}
	if got := arrived(w); got > budget || got == 0 {
		t.Errorf("%d bytes arrived, %d are allowed", got, budget)
	}
}
