package netfaults

import (
	"fmt"
	"os"
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

// The bounds of the product, and what this machine may add to them.
const (
	handshake = 15 * time.Second
	dialling  = 15 * time.Second
	looking   = 10 * time.Second
	slack     = 2 * time.Minute // of a machine that is slow
)

// trial is something that must come to an end by itself.
type trial struct {
	name   string
	o      order.Order
	within time.Duration
	status int    // of HTTP; 0: the connection just ends
	words  string // in the body
	record string // reason in the journal
}

// ends: a client that speaks no HTTP in the clear is told no more than that it is over.
const ends = 0

var trials = []trial{
	{"resolver, http", order.Order{Do: "get", At: "http://" + world.Mute + "/"}, looking, 502, "the host's resolver does not answer", "not reached: the host's resolver does not answer"},
	{"resolver, tls", order.Order{Do: "get", At: "https://" + world.Mute + "/"}, looking, ends, "", "not reached: the host's resolver does not answer"},
	{"resolver, raw", order.Order{Do: "open", At: world.Mute + ":7", Text: "hello", Keep: "m"}, looking, ends, "", "not reached: the host's resolver does not answer"},
	{"silent origin, http", order.Order{Do: "get", At: "http://" + world.Silent + "/"}, dialling, 502, "no answer in time", "not reached: no answer in time"},
	{"silent origin, tls", order.Order{Do: "get", At: "https://" + world.Silent + "/"}, dialling, ends, "", "not reached: no answer in time"},
	{"silent origin, raw", order.Order{Do: "open", At: world.Silent + ":7", Text: "hello", Keep: "s"}, dialling, ends, "", "not reached: no answer in time"},
	{"silent origin, absolute form", order.Order{Do: "raw", At: "127.0.0.1:808", Text: "GET http://" + world.Silent + "/ HTTP/1.1\r\nHost: x\r\n\r\n"}, dialling, 502, "no answer in time", ""},
	{"no way, http", order.Order{Do: "get", At: "http://noway.test/"}, 0, 502, "no route to the host", "not reached: no route to the host"},
	{"nobody there, http", order.Order{Do: "get", At: "http://" + world.Allowed + ":8081/"}, 0, 502, "connection refused", "not reached: connection refused"},
	{"no such name, http", order.Order{Do: "get", At: "http://nowhere.test/"}, 0, 502, "the name does not exist", "not reached: the name does not exist"},
	{"mute origin, tls", order.Order{Do: "get", At: "https://still.test:8443/"}, 2 * handshake, ends, "", ""},
}

// TestSlow has everything wait that can wait, all at once: clients that take their
// time, a resolver and origins that say nothing. All of it ends, says why where it
// can, and others are served meanwhile.
func TestSlow(t *testing.T) {
	w := world.New(t)
	w.Answer("noway.test", []string{world.Unreachable4})
	origin(t, w, "still.test", 8443, "mute")
	flags := []string{"--allow-host", world.Allowed, "--allow-host", "http://" + world.Allowed + ":8081", "--allow-host", "noway.test", "--allow-host", "nowhere.test", "--allow-host", "https://still.test:8443"}
	for _, n := range []string{world.Mute, world.Silent} {
		flags = append(flags, "--allow-host", n, "--allow-host", n+":7")
	}
	s := hand.Start(t, w, flags...)
	pid := s.Cmd.Process.Pid
	before := memory(t, pid, "VmRSS")

	drips := map[string]<-chan order.Answer{}
	for _, d := range []struct{ name, at, bytes string }{
		{"tls", world.Allowed + ":443", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
		{"http", world.Allowed + ":80", "GET / HTTP/1.1\r\nX: "},
		{"proxy", "127.0.0.1:808", "CONNECT allowed.test:443 HTTP/1.1"},
		{"socks", "127.0.0.1:808", "\x05\xff"},
	} {
		drips[d.name] = s.Begin(order.Order{Do: "drip", At: d.at, Bytes: []byte(d.bytes), N: 200, For: handshake + 2*slack})
	}
	due := map[string]<-chan order.Answer{}
	for _, c := range trials {
		due[c.name] = s.Begin(c.o)
	}
	wait.Eventually(t, "all slow clients stand", func() bool { return standing(t) >= 800 })
	for i := range 5 {
		served(t, s, fmt.Sprintf("meanwhile, %d", i))
	}
	t.Logf("with 800 slow clients the supervisor has %d KiB, %d KiB before", memory(t, pid, "VmRSS")>>10, before>>10)
	for name, c := range drips {
		t.Run("slow client, "+name, func(t *testing.T) {
			a := s.Wait(c)
			t.Logf("%d ended after %s to %s %s", a.N, a.Least, a.Most, a.Text)
			if a.N != 200 || a.Most > handshake+slack {
				t.Errorf("%+v", a)
			}
		})
	}
	for _, c := range trials {
		t.Run(c.name, func(t *testing.T) { c.judge(t, w, s.Wait(due[c.name])) })
	}
	served(t, s, "afterwards")
	w.Answer(world.Mute, []string{"203.0.113.48"})
	if a := s.Do(order.Order{Do: "get", At: "http://" + world.Mute + "/"}); a.Status != 200 {
		t.Errorf("when the resolver answers again: %+v", a)
	}
}

func (c trial) judge(t *testing.T, w *world.World, a order.Answer) {
	t.Helper()
	t.Logf("after %s: %d %q %s", a.Took, a.Status, a.Text, a.Error)
	if a.Took > c.within+slack {
		t.Errorf("it took %s", a.Took)
	}
	status := a.Status
	if c.o.Do == "raw" {
		fmt.Sscanf(a.Text, "HTTP/1.1 %d", &status)
	}
	if status != c.status || c.status == ends && a.Error == "" || !strings.Contains(a.Text, c.words) {
		t.Errorf("status %d, want %d with %q", status, c.status, c.words)
	}
	for _, secret := range []string{"203.0.113.", "192.0.2.", "resolv.conf"} {
		if strings.Contains(a.Text, secret) {
			t.Errorf("the client is told of the host's network: %q", a.Text)
		}
	}
	if c.record != "" && !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool { return r.Name != "" && r.Reason == c.record }) {
		t.Errorf("not in the journal: %q", c.record)
	}
}

// TestResolverDown: nobody answers at the address of the host's resolver. Names are
// still answered inside, connections fail with the reason, and work again when the
// resolver does.
func TestResolverDown(t *testing.T) {
	w := world.New(t)
	const file = "/etc/resolv.conf"
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	restore := func() { os.WriteFile(file, was, 0) }
	t.Cleanup(restore)
	w.Hosts("203.0.113.49 hosts.test\n")
	if err := os.WriteFile(file, []byte("nameserver 127.0.0.9\n"), 0); err != nil {
		t.Fatal(err)
	}
	s := hand.Start(t, w, "--allow-host", world.Allowed, "--allow-host", "hosts.test")
	if a := s.Do(order.Order{Do: "look", At: world.Allowed}); a.Error != "" || a.Took > slack {
		t.Errorf("the resolver inside: %+v", a)
	}
	a := s.Do(order.Order{Do: "get", At: allowedWeb})
	t.Logf("after %s: %d %q", a.Took, a.Status, a.Text)
	if a.Status != 502 || !strings.Contains(a.Text, "the host's resolver") || strings.Contains(a.Text, "127.0.0.9") || a.Took > looking+slack {
		t.Errorf("%+v", a)
	}
	if a := s.Do(order.Order{Do: "get", At: "http://hosts.test/"}); a.Status != 200 {
		t.Errorf("a name of the host's hosts file: %+v", a)
	}
	restore()
	took := wait.Eventually(t, "it works again", func() bool { return s.Do(order.Order{Do: "get", At: allowedWeb}).Status == 200 })
	t.Logf("it works again after %s", took)
}

// TestMuteOrigin: an origin accepts and never says a word. Who talks to it waits,
// nobody else does, and the end of the session ends it all.
func TestMuteOrigin(t *testing.T) {
	w := world.New(t)
	origin(t, w, "still.test", 9100, "mute")
	s := hand.Start(t, w, "--allow-host", world.Allowed, "--allow-host", "still.test:9100", "--allow-host", "http://still.test:9100")
	const n = 50
	if a := s.Do(order.Order{Do: "crowd", At: "still.test:9100", Text: "GET / HTTP/1.1\r\nHost: still.test:9100\r\n\r\n", Keep: "all", N: n, For: slack}); a.N != n {
		t.Fatalf("%+v", a)
	}
	wait.Eventually(t, "all are relayed", func() bool { return connections(t, 9100) == n })
	served(t, s, "meanwhile")
	s.Do(order.Order{Do: "release", Keep: "all"})
	s.Stop()
	wait.Eventually(t, "nothing stands to the origin", func() bool { return connections(t, 9100) == 0 })
}
