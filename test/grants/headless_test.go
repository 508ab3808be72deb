package grants

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m, "./"+hand.Puppet) }

const otherWeb = "http://" + world.Other + "/"

// TestUnknownHost: nobody is there to be asked, so the answer comes at once, and with
// the command that would change it.
func TestUnknownHost(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	command := "ringfence grant " + s.ID + " --host " + world.Other
	if a := s.Do(order.Order{Do: "look", At: world.Other}); a.Error != "no such host" {
		t.Errorf("the resolver inside: %+v", a)
	}
	a := s.Do(order.Order{Do: "connect", At: world.Other + ":443"})
	if a.Status != 403 || !strings.Contains(a.Text, command+"\n") {
		t.Errorf("CONNECT: %+v, want %q", a, command)
	}
	a = s.Do(order.Order{Do: "connect", At: world.Other + ":5432", Accept: "application/json"})
	var said struct {
		Error, Rule, Reason, Host, Ask string
		Port                           uint16
	}
	if err := json.Unmarshal([]byte(a.Text), &said); err != nil || a.Status != 403 {
		t.Fatalf("CONNECT, as JSON: %v, %+v", err, a)
	}
	if said.Host != world.Other || said.Port != 5432 || said.Ask != command+":5432" || said.Rule == "" || said.Reason == "" {
		t.Errorf("CONNECT, as JSON: %+v", said)
	}
	if q, d := w.Queries(), w.Dialled(); len(q)+len(d) > 0 {
		t.Errorf("asked %v, dialled %v", q, d)
	}

	text := hand.Ringfence(t, w, "requests")
	for _, want := range []string{s.ID + "  dev  ", world.Other + ":443 refused 1×", world.Other + ":5432 refused 1×", command + "\n", command + ":5432\n"} {
		if text.Status != 0 || !strings.Contains(text.Stdout, want) {
			t.Errorf("requests does not say %q: %+v", want, text)
		}
	}
	for port, refused := range map[uint16]int{443: 1, 5432: 1} {
		st := s.Status()
		i := slices.IndexFunc(st.Pending, func(p pending) bool { return p.Host == world.Other && p.Port == port })
		if i < 0 || st.Pending[i].Refused != refused || st.Pending[i].Waiting != 0 {
			t.Errorf("requests --json, port %d: %+v", port, st)
		}
	}
	if s.Status().Dir != w.Dir {
		t.Errorf("requests --json: %+v, the session is in %s", s.Status(), w.Dir)
	}
	if r := s.Grant("--host", world.Other); r.Status != 0 || !strings.Contains(r.Stderr, world.Other+" for this session") {
		t.Errorf("grant: %+v", r)
	}
	st := s.Status()
	if slices.ContainsFunc(st.Pending, func(p pending) bool { return p.Port == 443 }) || len(st.Grants) != 1 || st.Grants[0].Rule != world.Other {
		t.Errorf("after the grant: %+v", st)
	}
}

// TestGrant: it holds at once, for what it names and for nothing else.
func TestGrant(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Error == "" {
		t.Fatalf("allowed before anybody said so: %+v", a)
	}
	if r := s.Grant("--host", world.Other); r.Status != 0 {
		t.Fatalf("grant: %+v", r)
	}
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Status != 200 {
		t.Errorf("the first try after the grant: %+v", a)
	}
	if a := s.Do(order.Order{Do: "get", At: "https://" + world.Other + "/"}); a.Status != 200 {
		t.Errorf("https: %+v", a)
	}
	w.Forget()
	for _, at := range []string{world.Other + ":7", world.Other + ":8443", "x." + world.Other + ":443", world.Allowed + ":443", "other-test:443"} {
		if a := s.Do(order.Order{Do: "connect", At: at}); a.Status != 403 {
			t.Errorf("%s: %+v", at, a)
		}
	}
	for _, at := range []string{world.Other + ":7", "203.0.113.11:80"} {
		if a := s.Do(order.Order{Do: "raw", At: at, Text: "GET / HTTP/1.0\r\n\r\n"}); strings.Contains(a.Text, "origin ") {
			t.Errorf("%s: %+v", at, a)
		}
	}
	if d := w.Dialled(); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
	if !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool {
		return r.Event == journal.Grant && r.Rule == world.Other && r.Session == s.ID && r.Source != ""
	}) {
		t.Errorf("the grant is not in the journal: %+v", w.Journal())
	}
	if !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool {
		return r.Event == journal.Decision && r.Name == world.Other && r.Port == 80 && r.Verdict == journal.Allow && r.Rule == world.Other
	}) {
		t.Errorf("what it allowed does not name it in the journal: %+v", w.Journal())
	}
}

// TestGrantOtherSession: a grant is for the session that it names.
func TestGrantOtherSession(t *testing.T) {
	w := world.New(t)
	one, two := hand.Start(t, w), hand.Start(t, w)
	if one.ID == two.ID || one.ID == "" || two.ID == "" {
		t.Fatalf("sessions %q and %q", one.ID, two.ID)
	}
	one.Grant("--host", world.Other)
	if a := one.Do(order.Order{Do: "get", At: otherWeb}); a.Status != 200 {
		t.Errorf("the one: %+v", a)
	}
	if a := two.Do(order.Order{Do: "get", At: otherWeb}); a.Error == "" {
		t.Errorf("the other: %+v", a)
	}
	two.Stop()
	if r := hand.Ringfence(t, w, "grant", two.ID, "--host", world.Other); r.Status == 0 || !strings.Contains(r.Stderr, `no session "`+two.ID+`" is running`) {
		t.Errorf("grant for a session that has ended: %+v", r)
	}
}

// ways are the connections that a grant for a while lets through, and that end with
// it: each has bytes on their way all the time or none.
var ways = []struct{ name, rule, at, say string }{
	{"raw", world.Other + ":7", world.Other + ":7", "hello"},
	{"tls", "https://" + world.Other + ":443", "https://" + world.Other + ":443", "GET /bytes/1000000000000 HTTP/1.1\r\nHost: " + world.Other + "\r\n\r\n"},
	{"tls, silent", "https://" + world.Other + ":443", "https://" + world.Other + ":443", "GET / HTTP/1.1\r\nHost: " + world.Other + "\r\n\r\n"},
	{"http, an answer without end", world.Other + ":80", world.Other + ":80", "GET /bytes/1000000000000 HTTP/1.1\r\nHost: " + world.Other + "\r\n\r\n"},
	{"http, between requests", world.Other + ":80", world.Other + ":80", "GET / HTTP/1.1\r\nHost: " + world.Other + "\r\n\r\n"},
}

// TestGrantExpires: a grant for a while ends by itself, and with it what it let
// through.
func TestGrantExpires(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	for _, way := range ways {
		if r := s.Grant("--host", way.rule, "--for", "5s"); r.Status != 0 || !strings.Contains(r.Stderr, "until ") {
			t.Fatalf("grant: %+v", r)
		}
		if a := s.Do(order.Order{Do: "open", At: way.at, Text: way.say, Keep: way.name}); a.Error != "" {
			t.Errorf("%s: %+v", way.name, a)
		}
	}
	for _, g := range s.Status().Grants {
		if g.Expires.IsZero() || g.Expires.After(time.Now().Add(5*time.Second)) {
			t.Errorf("a grant that does not end in time: %+v", g)
		}
	}
	due := map[string]<-chan order.Answer{}
	for _, way := range ways {
		due[way.name] = s.Begin(order.Order{Do: "ended", Keep: way.name, For: wait.Patience})
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			if a := s.Wait(due[way.name]); a.Text != "ended" {
				t.Errorf("the open connection outlives its grant: %+v", a)
			}
		})
	}
	w.Forget()
	for _, way := range ways {
		if a := s.Do(order.Order{Do: "connect", At: strings.TrimPrefix(way.at, "https://")}); a.Status != 403 {
			t.Errorf("%s is still allowed: %+v", way.rule, a)
		}
	}
	if a := s.Do(order.Order{Do: "look", At: world.Other}); a.Error != "no such host" {
		t.Errorf("the name is still answered: %+v", a)
	}
	if st := s.Status(); len(st.Grants) > 0 {
		t.Errorf("still shown: %+v", st.Grants)
	}
	if d := w.Dialled(); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
}

// TestGrantRenewed: granted again, it holds on.
func TestGrantRenewed(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	s.Grant("--host", world.Other, "--for", "2s")
	s.Grant("--host", world.Allowed, "--for", "2s") // ends after the other would have
	s.Grant("--host", world.Other)
	wait.Eventually(t, "what was granted with it has ended", func() bool {
		return !slices.ContainsFunc(s.Status().Grants, func(g control.Grant) bool { return g.Rule == world.Allowed })
	})
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Status != 200 {
		t.Errorf("%+v", a)
	}
	if st := s.Status(); len(st.Grants) != 1 {
		t.Errorf("%+v", st.Grants)
	}
}

// TestDenyBeatsGrant: what policy denies, a grant does not open, and it says so.
func TestDenyBeatsGrant(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w, "--deny-host", world.Other)
	r := s.Grant("--host", world.Other)
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Error == "" {
		t.Errorf("%+v", a)
	}
	if d := w.Dialled(); len(d) > 0 {
		t.Errorf("dialled %v", d)
	}
	if strings.Contains(r.Stderr, "allowed") && !strings.Contains(r.Stderr, "den") {
		t.Errorf("the person is told that it is allowed now: %+v", r)
	}
}

// TestGrantWords: what cannot be granted is refused with words that help.
func TestGrantWords(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	for i, c := range []struct {
		args []string
		want string
	}{
		{[]string{"0000000000", "--host", world.Other}, `no session "0000000000" is running`},
		{[]string{"../../etc", "--host", world.Other}, "no session"},
		{[]string{"", "--host", world.Other}, "needs a session"},
		{[]string{"--host", world.Other}, "needs a session"},
		{[]string{s.ID}, "needs a session and --host"},
		{[]string{s.ID, "--host", "203.0.113.11:80"}, "--allow-ip"},
		{[]string{s.ID, "--host", "[2001:db8::11]:80"}, "--allow-ip"},
		{[]string{s.ID, "--host", "*.com"}, "everybody's"},
		{[]string{s.ID, "--host", "*"}, "star"},
		{[]string{s.ID, "--host", "a*.other.test"}, "star"},
		{[]string{s.ID, "--host", "other.test:0"}, "port"},
		{[]string{s.ID, "--host", "other.test:70000"}, "port"},
		{[]string{s.ID, "--host", "other.test."}, "dot"},
		{[]string{s.ID, "--host", "user@other.test"}, ""},
		{[]string{s.ID, "--host", "other.test\x1b[2J"}, ""},
		{[]string{s.ID, "--host", world.Other, "--for", "-1s"}, "too short"},
		{[]string{s.ID, "--host", world.Other, "--for", "10ms"}, "too short"},
		{[]string{s.ID, "--host", world.Other, "--for", "soon"}, "soon"},
		{[]string{s.ID, "--host", world.Other, "--for", "1m", "--session"}, "give one"},
		{[]string{s.ID, "--host", world.Other, "--project", "--always"}, "give one"},
		{[]string{s.ID, "another", "--host", world.Other}, "another"},
	} {
		if !stage.Mine(i) { // the users share them
			continue
		}
		r := hand.Ringfence(t, w, append([]string{"grant"}, c.args...)...)
		if r.Status == 0 || !strings.Contains(r.Stderr, c.want) || !strings.HasPrefix(r.Stderr, "ringfence: error: ") || strings.Contains(r.Stderr, "\x1b") {
			t.Errorf("grant %q: %+v, want %q", c.args, r, c.want)
		}
	}
	if st := s.Status(); len(st.Grants) > 0 {
		t.Errorf("granted: %+v", st.Grants)
	}
	if r := hand.Ringfence(t, w, "requests", "0000000000"); r.Status == 0 || !strings.Contains(r.Stderr, "no session") {
		t.Errorf("requests: %+v", r)
	}
}

// TestManyRequests: who asks for ten thousand hosts does not bury the screen or the
// session.
func TestManyRequests(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	var due []<-chan order.Answer
	for i := range 700 {
		due = append(due, s.Begin(order.Order{Do: "look", At: fmt.Sprintf("n%d.%s", i, world.Other)}))
	}
	for _, c := range due {
		if a := s.Wait(c); a.Error == "" {
			t.Fatalf("%+v", a)
		}
	}
	if n := len(s.Status().Pending); n == 0 || n > 512 {
		t.Errorf("%d requests are shown", n)
	}
	if a := s.Do(order.Order{Do: "connect", At: "late." + world.Other + ":443"}); a.Status != 403 || !strings.Contains(a.Text, "--host late.") {
		t.Errorf("the last one: %+v", a)
	}
	if r := s.Grant("--host", world.Other); r.Status != 0 {
		t.Errorf("grant: %+v", r)
	}
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Status != 200 {
		t.Errorf("%+v", a)
	}
}
