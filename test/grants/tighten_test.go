package grants

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// lines are connections that a session has open, by the way that they came.
var lines = []struct{ name, at, say string }{
	{"tcp", ":7", "x"}, {"tls", ":443", "GET / HTTP/1.1\r\nHost: %s\r\n\r\n"}, {"http", ":80", "GET / HTTP/1.1\r\nHost: %s\r\n\r\n"},
}

// holds opens a connection of each kind to a host.
func holds(t *testing.T, s *hand.Session, host string) {
	t.Helper()
	for _, l := range lines {
		at := host + l.at
		if l.name == "tls" {
			at = "https://" + at
		}
		if a := s.Do(order.Order{Do: "open", At: at, Text: strings.ReplaceAll(l.say, "%s", host), Keep: host + l.name}); a.Error != "" {
			t.Fatalf("%s to %s: %s", l.name, host, a.Error)
		}
	}
}

// ended holds them to be cut.
func ended(t *testing.T, s *hand.Session, host string) {
	t.Helper()
	for _, l := range lines {
		if a := s.Do(order.Order{Do: "ended", Keep: host + l.name, For: wait.Patience}); a.Text != "ended" {
			t.Errorf("%s to %s: %+v", l.name, host, a)
		}
	}
}

// goesOn holds them to be as they were: what is said is answered.
func goesOn(t *testing.T, s *hand.Session, host string) {
	t.Helper()
	for _, l := range lines {
		if a := s.Do(order.Order{Do: "say", Keep: host + l.name, Text: strings.ReplaceAll(l.say, "%s", host)}); a.Error != "" || a.Text == "" {
			t.Errorf("%s to %s: %+v", l.name, host, a)
		}
	}
}

func answers(s *hand.Session, host string) bool {
	return s.Do(order.Order{Do: "get", At: "http://" + host + "/"}).Status == 200
}

// TestRevoke: a host that was allowed is refused afterwards and what is open is cut, whoever
// allowed it; another host goes on, and a later grant opens it again.
func TestRevoke(t *testing.T) {
	for _, by := range []string{"policy", "grant", "mode"} {
		t.Run(by, func(t *testing.T) {
			w := world.New(t)
			flags := []string{"--allow-host", world.Other, "--allow-host", world.Other + ":7"}
			switch by {
			case "policy":
				flags = append(flags, "--allow-host", world.Allowed, "--allow-host", world.Allowed+":7")
			case "mode":
				flags = append(flags, "--net", "internet")
			}
			s := hand.Launch{Flags: flags}.Start(t, w)
			if by == "grant" {
				for _, rule := range []string{world.Allowed, world.Allowed + ":7"} {
					if r := s.Grant("--host", rule); r.Status != 0 {
						t.Fatalf("%+v", r)
					}
				}
			}
			if by == "mode" && !answers(s, world.Allowed) {
				t.Skip("names of the test are not of the public network")
			}
			holds(t, s, world.Allowed)
			holds(t, s, world.Other)
			r := hand.Ringfence(t, w, "revoke", s.ID, world.Allowed)
			if r.Status != 0 || !strings.Contains(r.Stderr, "taken back: "+world.Allowed+"; 3 connections were cut") {
				t.Fatalf("%+v", r)
			}
			ended(t, s, world.Allowed)
			goesOn(t, s, world.Other)
			if answers(s, world.Allowed) || !answers(s, world.Other) {
				t.Error("refused afterwards, or the other is")
			}
			if st := s.Status(); !slices.Contains(st.Revoked, world.Allowed) {
				t.Errorf("status: %q", st.Revoked)
			}
			if a := s.Do(order.Order{Do: "file", At: launch.NotePath}); !strings.Contains(a.Text, "`"+world.Allowed+"`") && !strings.Contains(a.Text, world.Allowed) {
				t.Errorf("the note: %+v", a)
			}
			if !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool {
				return r.Event == journal.Revoke && r.Rule == world.Allowed && r.Count == 3
			}) {
				t.Error("it is not in the journal")
			}
			if r := hand.Ringfence(t, w, "why", "--last", s.ID); !strings.Contains(r.Stdout, "took it back") {
				t.Errorf("why: %+v", r)
			}
			if r := s.Grant("--host", world.Allowed); r.Status != 0 || !answers(s, world.Allowed) {
				t.Errorf("granted again: %+v", r)
			}
		})
	}
}

// TestRevokePorts: a published port and a port of the host go, with what is connected.
func TestRevokePorts(t *testing.T) {
	w := world.New(t)
	s := hand.Launch{Flags: []string{"--publish", "3100:3000"}}.Start(t, w)
	s.Do(order.Order{Do: "listen", At: "127.0.0.1:3000"})
	if got := said("127.0.0.1:3100"); got != "hello from inside\n" {
		t.Fatal(got)
	}
	if r := hand.Ringfence(t, w, "revoke", s.ID, "3100"); r.Status != 0 {
		t.Fatalf("%+v", r)
	}
	if got := said("127.0.0.1:3100"); got == "hello from inside\n" {
		t.Error("it is published still")
	}
	if st := s.Status(); len(st.Published) != 0 {
		t.Errorf("%+v", st.Published)
	}
	if r := s.Publish("3100:3000"); r.Status != 0 || said("127.0.0.1:3100") != "hello from inside\n" {
		t.Errorf("published again: %+v", r)
	}
	for what, want := range map[string]string{
		"3200": "neither published nor open", "nobody.test": "nothing allows nobody.test", "1.2.3.4/99": "not an address or a range", "": "",
	} {
		if r := hand.Ringfence(t, w, "revoke", s.ID, what); r.Status == 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%q: %+v", what, r)
		}
	}
}

// TestRevokeAddress: an address is closed whatever leads there.
func TestRevokeAddress(t *testing.T) {
	w := world.New(t)
	s := hand.Launch{Flags: []string{"--allow-host", world.Allowed, "--allow-host", world.Allowed + ":7", "--allow-host", world.Other, "--allow-host", world.Other + ":7"}}.Start(t, w)
	holds(t, s, world.Allowed)
	holds(t, s, world.Other)
	for _, a := range []string{ours4, ours6} {
		if r := hand.Ringfence(t, w, "revoke", s.ID, a); r.Status != 0 {
			t.Fatalf("%+v", r)
		}
	}
	ended(t, s, world.Allowed)
	goesOn(t, s, world.Other)
	if answers(s, world.Allowed) || !answers(s, world.Other) {
		t.Error("refused afterwards, or the other is")
	}
}

// TestTighten: a session moves to a stricter mode, with all that it has open, and never back.
func TestTighten(t *testing.T) {
	w := world.New(t)
	s := hand.Launch{Flags: []string{"--allow-host", world.Other, "--allow-host", world.Other + ":7"}}.Start(t, w)
	for _, rule := range []string{world.Allowed, world.Allowed + ":7"} {
		if r := s.Grant("--host", rule); r.Status != 0 {
			t.Fatalf("%+v", r)
		}
	}
	holds(t, s, world.Allowed)
	holds(t, s, world.Other)
	for mode, why := range map[string]string{"internet": "only gets stricter", "dev": "already", "wide": "there is no mode"} {
		if r := hand.Ringfence(t, w, "tighten", s.ID, "--net", mode); r.Status == 0 || !strings.Contains(r.Stderr, why) {
			t.Errorf("%s: %+v", mode, r)
		}
	}
	if r := hand.Ringfence(t, w, "tighten", s.ID); r.Status != 0 || !strings.Contains(r.Stderr, "network locked, it was dev; 3 connections were cut") {
		t.Fatalf("%+v", r)
	}
	ended(t, s, world.Allowed) // was granted
	goesOn(t, s, world.Other)  // the policy names it, in every mode
	if answers(s, world.Allowed) || !answers(s, world.Other) {
		t.Error("locked: refused afterwards, or what the policy names is")
	}
	st := s.Status()
	if st.Mode != "locked" || st.Began != "dev" || len(st.Grants) != 0 {
		t.Errorf("status: %s, it began in %s, %v", st.Mode, st.Began, st.Grants)
	}
	if r := hand.Ringfence(t, w, "tighten", s.ID, "--net", "none"); r.Status != 0 {
		t.Fatalf("%+v", r)
	}
	ended(t, s, world.Other)
	if answers(s, world.Other) {
		t.Error("none: it answers still")
	}
	if r := s.Grant("--host", world.Other); r.Status == 0 {
		t.Error("a grant brought the network back")
	}
	if r := hand.Ringfence(t, w, "tighten", s.ID, "--net", "dev"); r.Status == 0 {
		t.Error("a wider mode was taken")
	}
	a := s.Do(order.Order{Do: "file", At: launch.NotePath})
	if !strings.Contains(a.Text, "There is none.") {
		t.Errorf("the note: %+v", a)
	}
	if a := s.Do(order.Order{Do: "file", At: launch.StatusPath}); !strings.Contains(a.Text, "net none") {
		t.Errorf("the status inside: %+v", a)
	}
	if r := hand.Ringfence(t, w, "log", s.ID); !strings.Contains(r.Stdout, "network locked, it was dev") || !strings.Contains(r.Stdout, "network none, it was locked") {
		t.Errorf("log: %s", r.Stdout)
	}
	if r := hand.Ringfence(t, w, "ps"); !strings.Contains(r.Stdout, "none") {
		t.Errorf("ps: %s", r.Stdout)
	}
}
