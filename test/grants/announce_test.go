package grants

import (
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// said is what a server says, or how it cannot be reached.
func said(address string) string {
	c, err := net.DialTimeout("tcp", address, wait.Patience)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	b, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestAnnounce: a server that starts inside is told of, and can be reached from the
// host only where that was asked for.
func TestAnnounce(t *testing.T) {
	for _, c := range []struct {
		name, line, at string
		flags          []string
		terminal       bool
	}{
		{"not published", "a server inside listens on port 3000; to open it here: ringfence publish ", "", []string{"--verbose"}, false},
		{"published", "http://localhost:3000 → inside:3000", "127.0.0.1:3000", []string{"--verbose", "--publish", "3000"}, false},
		{"at another port", "http://localhost:3100 → inside:3000", "127.0.0.1:3100", []string{"--verbose", "--publish", "3100:3000"}, false},
		{"on a terminal", "\x1b]9;ringfence: http://localhost:3000 → inside:3000\x07", "127.0.0.1:3000", []string{"--yes", "--publish", "3000"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			s := hand.Launch{Terminal: c.terminal, Flags: c.flags}.Start(t, w)
			if a := s.Do(order.Order{Do: "listen", At: "127.0.0.1:3000"}); a.Error != "" {
				t.Fatal(a.Error)
			}
			took := wait.Eventually(t, "it is announced", func() bool { return strings.Contains(s.Screen(), c.line) })
			t.Logf("announced after %s", took)
			for _, at := range []string{"127.0.0.1:3000", "127.0.0.1:3100"} {
				if got, want := said(at) == "hello from inside\n", at == c.at; got != want {
					t.Errorf("%s answers: %v, want %v", at, got, want)
				}
			}
			st := s.Status()
			if len(st.Servers) != 1 || st.Servers[0].Port != 3000 || (st.Servers[0].Published != 0) != (c.at != "") {
				t.Errorf("requests --json: %+v", st.Servers)
			}
			if r := hand.Ringfence(t, w, "requests"); !strings.Contains(r.Stdout, "inside:3000") {
				t.Errorf("requests: %s", r.Stdout)
			}
			if !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool { return r.Event == journal.Listen && r.Port == 3000 }) {
				t.Errorf("not in the journal: %+v", w.Journal())
			}
			if n := strings.Count(s.Screen(), "inside:3000") + strings.Count(s.Screen(), "on port 3000"); n != 1 {
				t.Errorf("announced %d times: %q", n, s.Screen())
			}
		})
	}
}

// TestAnnounceQuiet: a pipe stays clean, and the gate's own ports are nobody's news.
func TestAnnounceQuiet(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	s.Do(order.Order{Do: "listen", At: "127.0.0.1:3000"})
	wait.Eventually(t, "it is seen", func() bool { return len(s.Status().Servers) == 1 })
	if s.Screen() != "" {
		t.Errorf("without --verbose: %q", s.Screen())
	}
	if s.Stop(); s.Screen() != "" {
		t.Errorf("without --verbose: %q", s.Screen())
	}
}

// TestAnnounceFlood: who opens a thousand ports does not bury the person.
func TestAnnounceFlood(t *testing.T) {
	w := world.New(t)
	s := hand.Launch{Terminal: true, Flags: []string{"--yes"}}.Start(t, w)
	var due []<-chan order.Answer
	for i := range 300 {
		due = append(due, s.Begin(order.Order{Do: "listen", At: fmt.Sprintf("127.0.0.1:%d", 20000+i)}))
	}
	for _, c := range due {
		s.Wait(c)
	}
	wait.Eventually(t, "all are seen", func() bool { return len(s.Status().Servers) == 300 })
	s.Stop() // what is to be told has been told
	n := strings.Count(s.Screen(), "\x1b]9;")
	t.Logf("%d notices for 300 servers", n)
	if n > 64 {
		t.Errorf("%d notices", n)
	}
}

// TestPublishLater: a running session shows a port when a person says so, to nobody before
// and to nobody after; what is ringfence's own or taken stays closed.
func TestPublishLater(t *testing.T) {
	w := world.New(t)
	s := hand.Start(t, w)
	s.Do(order.Order{Do: "listen", At: "127.0.0.1:3000"})
	if got := said("127.0.0.1:3100"); got == "hello from inside\n" {
		t.Fatal("it is published before anybody said so")
	}
	if r := hand.Ringfence(t, w, "publish", s.ID, "3100:3000"); r.Status != 0 || !strings.Contains(r.Stderr, "http://localhost:3100 → inside:3000, until the session ends") {
		t.Fatalf("%+v", r)
	}
	if got := said("127.0.0.1:3100"); got != "hello from inside\n" {
		t.Errorf("published: %s", got)
	}
	if st := s.Status(); len(st.Published) != 1 || st.Published[0].Published != 3100 || st.Published[0].Port != 3000 {
		t.Errorf("status: %+v", st.Published)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, taken, _ := net.SplitHostPort(l.Addr().String())
	for spec, want := range map[string]string{
		"3100:3001": "shows port 3000 of this session already", "3200:809": "none of the agent's", "3200:53": "none of the agent's",
		taken + ":3000": "publish it as another one, ", "0": "", "3000:3000": "write 3000", "x": "",
	} {
		if r := hand.Ringfence(t, w, "publish", s.ID, spec); r.Status == 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: %+v", spec, r)
		}
	}
	if !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool {
		return r.Event == journal.Grant && r.Rule == "publish 3100:3000" && r.Port == 3000
	}) {
		t.Error("it is not in the journal")
	}
	s.Stop()
	if got := said("127.0.0.1:3100"); got == "hello from inside\n" {
		t.Error("it is published after the end")
	}
}

// TestPublishTaken: a port that somebody has on the host stops the launch, and what is
// suggested instead works.
func TestPublishTaken(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:3000")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := world.New(t)
	r := w.Run("--publish", "3000", "--", "echo", "ran")
	suggestion := regexp.MustCompile(`--publish (\d+:3000)`).FindStringSubmatch(r.Stderr)
	if r.Status != 125 && r.Status != 126 || r.Stdout != "" || !strings.Contains(r.Stderr, "port 3000 of the host cannot be published (flag --publish)") || suggestion == nil {
		t.Fatalf("%+v", r)
	}
	s := hand.Start(t, w, "--publish", suggestion[1])
	s.Do(order.Order{Do: "listen", At: "127.0.0.1:3000"})
	port, _, _ := strings.Cut(suggestion[1], ":")
	if got := said("127.0.0.1:" + port); got != "hello from inside\n" {
		t.Errorf("the suggestion %q: %s", suggestion[0], got)
	}
	two := w.Run("--publish", suggestion[1], "--", "echo", "ran")
	if two.Status == 0 || two.Stdout != "" {
		t.Errorf("the same port for two sessions: %+v", two)
	}
}

// TestThreeLines: with a terminal a start says the project and its view, the network, and
// what is unusual; the end what needs a person, and one command.
func TestThreeLines(t *testing.T) {
	w := world.New(t)
	w.Put(".env", []byte("PASSWORD=correct-horse-battery\n"), 0o600)
	s := hand.Launch{Terminal: true, Flags: []string{"--yes", "--allow-host", world.Allowed}}.Start(t, w)
	_, start, _ := strings.Cut(strings.ReplaceAll(s.Screen(), "\r\n", "\n"), "This is said once.\n\n")
	start, _, _ = strings.Cut(start, "\x1b")
	want := regexp.MustCompile(`^ringfence ` + s.ID + ` · command · native · live ` + regexp.QuoteMeta(w.Dir) + `
  network    dev \(\+1 host\)
  unusual    .*masked \.env \(values\).*
$`)
	if !want.MatchString(start) {
		t.Errorf("a start says:\n%s", start)
	}
	status := hand.Ringfence(t, w, "status", s.ID).Stdout
	for _, row := range []string{"  workspace  live ", "  limits     processes ", "  trifecta   private ", "  masked     ", "  passed     ", "  set        "} {
		if !strings.Contains(status, row) {
			t.Errorf("status has no row %q:\n%s", row, status)
		}
	}
	s.Do(order.Order{Do: "connect", At: world.Other + ":443"})
	s.Stop()
	wait.Eventually(t, "the end on the screen", func() bool { return strings.Contains(s.Screen(), "  next       ") })
	_, end, ok := strings.Cut(strings.ReplaceAll(s.Screen(), "\r\n", "\n"), "ringfence "+s.ID+" ended: exit 0 after ")
	_, end, _ = strings.Cut(end, "\n")
	if want := "  refused    " + world.Other + " 1×: no rule allows this name\n"; !ok || !strings.HasPrefix(end, want) {
		t.Errorf("the end does not begin with %q:\n%s", want, end)
	}
	if want := "\n  next       ringfence why --last " + s.ID + "\n"; !strings.HasSuffix(end, want) || strings.Count(end, "  next  ") != 1 {
		t.Errorf("the end is not %q:\n%s", want, end)
	}
}

// TestSummary: the end of a session in one screen.
func TestSummary(t *testing.T) {
	for _, c := range []struct {
		name   string
		denied int
		want   []string
	}{
		{"nothing", 0, []string{"network    nothing went out"}},
		{"a few", 3, []string{"network    1 host, ", "allowed.test ", " sent, ", " received", "d0.other.test refused 1×: no rule allows this name", ", 3 refused"}},
		{"many", 60, []string{"network    1 host, ", "allowed.test ", "60 refused", "ringfence log "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			s := hand.Start(t, w, "--verbose", "--allow-host", world.Allowed)
			if c.denied > 0 {
				s.Do(order.Order{Do: "upload", At: world.Allowed, Text: "http", N: 100_000})
			}
			for i := range c.denied {
				s.Do(order.Order{Do: "connect", At: fmt.Sprintf("d%d.%s:443", i, world.Other)})
			}
			s.Stop()
			i := strings.Index(s.Screen(), "ringfence "+s.ID+" ended: exit 0 after ")
			if i < 0 {
				t.Fatalf("no summary: %q", s.Screen())
			}
			end := s.Screen()[i:]
			for _, want := range c.want {
				if !strings.Contains(end, want) {
					t.Errorf("it does not say %q:\n%s", want, end)
				}
			}
			if n := strings.Count(end, "\n"); n > 24 {
				t.Errorf("%d lines:\n%s", n, end)
			}
			for line := range strings.Lines(end) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			t.Logf("\n%s", end)
		})
	}
}
