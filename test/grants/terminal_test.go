package grants

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// Names of the public network: only for those a person is asked.
const (
	public  = world.Public
	public2 = "other.example.com"
)

// notice is one that a terminal shows by itself.
var notice = regexp.MustCompile("\x1b]9;([^\x07\x1b]*)(\x07|\x1b\\\\)")

// waits finds what waits for a person.
func waits(s *hand.Session, host string, port uint16) (pending, bool) {
	st := s.Status()
	i := slices.IndexFunc(st.Pending, func(p pending) bool { return p.Host == host && p.Port == port && p.Waiting > 0 })
	if i < 0 {
		return pending{}, false
	}
	return st.Pending[i], true
}

// waiting is a connection that waits for a person.
type waiting struct {
	name string
	do   order.Order
	port uint16
	rule string // that lets it through
}

// TestWait: on a terminal the connection waits for a person, who is told of it, and
// goes on as soon as it is allowed.
func TestWait(t *testing.T) {
	for _, c := range []waiting{
		{"http", order.Order{Do: "get", At: "http://" + public + "/"}, 80, public},
		{"tls", order.Order{Do: "get", At: "https://" + public + "/"}, 443, public},
		{"another port", order.Order{Do: "open", At: public + ":7", Text: "hello", Keep: "x"}, 7, public + ":7"},
		{"CONNECT", order.Order{Do: "connect", At: public + ":443"}, 443, public},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			s := hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
			due := s.Begin(c.do)
			c.isShown(t, w, s)
			if q, d := w.Queries(), w.Dialled(); len(q)+len(d) > 0 {
				t.Errorf("before anybody allowed it: asked %v, dialled %v", q, d)
			}
			select {
			case a := <-due:
				t.Fatalf("it did not wait: %+v", a)
			default:
			}
			if g := s.Grant("--host", c.rule); g.Status != 0 {
				t.Fatalf("grant: %+v", g)
			}
			said := time.Now()
			if a := s.Wait(due); a.Error != "" || a.Status != 200 && a.Text != "hello" {
				t.Errorf("the one that waited: %+v", a)
			}
			t.Logf("it went on %s after the grant", time.Since(said))
			if !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool {
				return r.Event == journal.Request && r.Verdict == journal.Wait && r.Name == public && r.Port == c.port
			}) {
				t.Errorf("not in the journal: %+v", w.Journal())
			}
		})
	}
}

// isShown checks what a person sees of it: in `ringfence requests`, and on the
// terminal of the session.
func (c waiting) isShown(t *testing.T, w *world.World, s *hand.Session) {
	t.Helper()
	var p pending
	wait.Eventually(t, "it waits, and it is known who", func() (ok bool) {
		p, ok = waits(s, public, c.port)
		return ok && p.Command != ""
	})
	if p.Command != hand.Puppet || p.PID < 2 {
		t.Errorf("who waits: %+v", p)
	}
	command := "ringfence grant " + s.ID + " --host " + c.rule
	r := hand.Ringfence(t, w, "requests", s.ID)
	for _, want := range []string{"waits since ", "by " + hand.Puppet, command + "\n"} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("requests does not say %q: %+v", want, r)
		}
	}
	wait.Eventually(t, "the terminal is told", func() bool { return notice.MatchString(s.Screen()) })
	if told := notice.FindStringSubmatch(s.Screen())[1]; !strings.HasSuffix(told, command) && !strings.Contains(told, command+" ") {
		t.Errorf("the terminal is told %q, want %q in it", told, command)
	}
}

// held counts the connections that were held for a person so far.
func held(w *world.World) (n int) {
	for _, r := range w.Journal() {
		if r.Event == journal.Request && r.Verdict == journal.Wait {
			n++
		}
	}
	return n
}

// TestWaitInVain: nobody comes. The connection is refused in the end, and the next one
// does not wait. A grant for another port is not an answer.
func TestWaitInVain(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	w := world.New(t)
	s := hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
	first := s.Begin(order.Order{Do: "connect", At: public + ":443"})
	second := s.Begin(order.Order{Do: "get", At: "http://" + public2 + "/"})
	wait.Eventually(t, "both wait", func() bool {
		_, one := waits(s, public, 443)
		_, two := waits(s, public2, 80)
		return one && two
	})
	s.Grant("--host", public+":8443")
	a := s.Wait(first)
	if a.Status != 403 || !strings.Contains(a.Text, "ringfence grant "+s.ID+" --host "+public+"\n") {
		t.Errorf("after the wait: %+v", a)
	}
	if a.Took < 20*time.Second {
		t.Errorf("refused after %s", a.Took)
	}
	if a := s.Wait(second); a.Status != 403 {
		t.Errorf("after the wait: %+v", a)
	}
	waited := held(w)
	a = s.Do(order.Order{Do: "connect", At: public + ":443"})
	if a.Status != 403 || held(w) != waited {
		t.Errorf("the second try: %+v, %d were held before and %d are now", a, waited, held(w))
	}
	if a := s.Do(order.Order{Do: "look", At: public2}); a.Error != "no such host" {
		t.Errorf("the second try: %+v", a)
	}
	if q, d := w.Queries(), w.Dialled(); len(q)+len(d) > 0 {
		t.Errorf("asked %v, dialled %v", q, d)
	}
	if r := s.Grant("--host", public2); r.Status != 0 {
		t.Fatalf("grant: %+v", r)
	}
	if a := s.Do(order.Order{Do: "get", At: "http://" + public2 + "/"}); a.Status != 200 {
		t.Errorf("after a grant that came late: %+v", a)
	}
}

// TestNoWait: where nobody is to be asked, and for names that no grant is likely to be
// for, the answer comes at once.
func TestNoWait(t *testing.T) {
	for _, c := range []struct {
		name, host string
		flags      []string
	}{
		{"--no-input", public, []string{"--yes", "--no-input"}},
		{"a special name", world.Other, []string{"--yes"}},
		{"a name of one label", "intranet", []string{"--yes"}},
		{"a denied name", public, []string{"--yes", "--deny-host", public}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			s := hand.Launch{Terminal: true, Flags: c.flags}.Start(t, w)
			if a := s.Do(order.Order{Do: "look", At: c.host}); a.Error != "no such host" {
				t.Errorf("the resolver inside: %+v", a)
			}
			if a := s.Do(order.Order{Do: "connect", At: c.host + ":443"}); a.Status != 403 || held(w) > 0 {
				t.Errorf("CONNECT: %+v, %d were held", a, held(w))
			}
			if strings.Contains(s.Screen(), "\x1b]9;ringfence: "+c.host) {
				t.Errorf("somebody was asked: %q", s.Screen())
			}
		})
	}
}

// TestEndWhileWaiting: the session does not wait for who waits.
func TestEndWhileWaiting(t *testing.T) {
	const asks = 30 * time.Second // the product does
	w := world.New(t)
	for range 3 { // a machine may be so busy that it cannot be told once
		s := hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
		began := time.Now()
		s.Begin(order.Order{Do: "connect", At: public + ":443"})
		wait.Eventually(t, "it waits", func() bool { _, ok := waits(s, public, 443); return ok })
		if status := s.Stop(); status != 0 {
			t.Errorf("status %d", status)
		}
		if time.Since(began) < asks {
			return
		}
	}
	t.Errorf("each time it lasted %s", asks)
}

// TestLongNames: a command that a person is shown is whole or not there.
func TestLongNames(t *testing.T) {
	w := world.New(t)
	s := hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
	long := strings.Repeat(strings.Repeat("a", 50)+".", 4) + public
	s.Begin(order.Order{Do: "connect", At: long + ":443"})
	wait.Eventually(t, "it waits", func() bool { _, ok := waits(s, long, 443); return ok })
	wait.Eventually(t, "the terminal is told", func() bool { return notice.MatchString(s.Screen()) })
	told := notice.FindStringSubmatch(s.Screen())[1]
	if _, arg, ok := strings.Cut(told, "--host "); ok && !strings.HasPrefix(arg, long) {
		t.Errorf("the command is for another host: %q", told)
	}
}

// TestWaitingIsBounded: who opens a thousand connections to unknown hosts gets a
// bounded number of them to wait, and the terminal is not flooded.
func TestWaitingIsBounded(t *testing.T) {
	w := world.New(t)
	s := hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
	s.Begin(order.Order{Do: "crowd", At: public + ":443", N: 200, Keep: "all", For: 5 * time.Second})
	wait.Eventually(t, "all wait or are refused", func() bool {
		p, ok := waits(s, public, 443)
		if p.Waiting > 64 {
			t.Fatalf("%d wait", p.Waiting)
		}
		return ok && p.Waiting+p.Refused >= 200
	})
	if n := strings.Count(s.Screen(), "\x1b]9;"); n > 8 {
		t.Errorf("%d notices for one host", n)
	}
	s.Begin(order.Order{Do: "connect", At: public2 + ":443"})
	wait.Eventually(t, "another host is asked about, too", func() bool { _, ok := waits(s, public2, 443); return ok })
}
