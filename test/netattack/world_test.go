package netattack

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m, "./netprobe", "./netserve") }

// The ports of canaries. canaryPort has one at every address of the internet and of
// the host.
const (
	canaryPort = 7701
	hostPort   = 5433 // on the host's loopback, and its neighbours
	allowedIP  = 9999 // at 10.0.0.1, and its neighbour
)

// Addresses on the internet.
const (
	denied4, denied6 = "203.0.113.66", "2001:db8::66"
	wild4, wild6     = "203.0.113.12", "2001:db8::112"
	open4, open6     = "203.0.113.80", "2001:db8::80"  // of public hosts that a mode may open
	public4, public6 = "203.0.113.13", "2001:db8::113" // the good part of a mixed answer
	proxyAddr        = "203.0.113.30:3128"
	socksProxyAddr   = "203.0.113.31:1080"
)

// names is what the resolver says beside what it says anyway.
var names = map[string][][]string{
	"denied.test":                     {{denied4, denied6}},
	"*.denied.test":                   {{denied4, denied6}},
	"denied-v6.test":                  {{"2001:db8::67"}},
	"evil.test":                       {{"203.0.113.68", "2001:db8::68"}},
	"x.test":                          {{"203.0.113.69", "2001:db8::69"}},
	"wild.test":                       {{wild4, wild6}},
	"*.wild.test":                     {{wild4, wild6}},
	"registry.test":                   {{wild4, wild6}},
	"xn--bcher-kva.test":              {{"203.0.113.70"}},
	"xn--a.test":                      {{"203.0.113.74"}},
	"a.a.a.test":                      {{"203.0.113.75"}}, // what is left of a name that is too long
	strings.Repeat("a", 63) + ".test": {{"203.0.113.75"}},
	"printer.corp.test":               {{"203.0.113.71"}},
	"secret.local":                    {{"203.0.113.72"}},
	"host.docker.internal":            {{"192.168.65.254"}},
	"gateway.docker.internal":         {{"192.168.65.253"}},
}

// begin makes a world with all that the rows speak of.
func begin(t testing.TB) *world.World {
	t.Helper()
	w := world.New(t)
	for name, rounds := range names {
		w.Answer(name, rounds...)
	}
	for name, addrs := range guarded() {
		w.Answer(name, addrs)
	}
	for _, name := range slices.Concat(tunnels, drops, doh, []string{"react.dev"}) {
		w.Answer(name, []string{denied4, denied6})
	}
	for _, name := range slices.Concat(telemetry, []string{"static.crates.io", "api.github.com", "registry.example.com", "files.example.com"}) {
		w.Answer(name, []string{open4, open6})
	}
	w.Hosts("203.0.113.73 secret-host secret-host.corp.test\n10.0.2.2 host.containers.internal\n")
	w.Open(canaryPort, allowedIP, allowedIP-1, 853, 6379)
	listenHost(t, "tcp", fmt.Sprintf(":%d", canaryPort), "canary host\n")
	for _, p := range []int{hostPort - 1, hostPort, hostPort + 1, 3128} {
		listenHost(t, "tcp", fmt.Sprintf(":%d", p), "canary host\n")
	}
	return w
}

// listenHost puts a canary on the host.
func listenHost(t testing.TB, network, address, says string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, says)
			c.Close()
		}
	}()
}

// ask writes the list that netprobe reads and returns how to start it.
func ask(t testing.TB, w *world.World, probes []probe.Probe, proxy4, proxy6 string) []string {
	t.Helper()
	for _, p := range probes {
		if p.Talk != nil && !utf8.ValidString(p.Talk.Enough) { // JSON would change it
			t.Fatalf("%s waits for %q", p.ID, p.Talk.Enough)
		}
	}
	data, err := json.Marshal(probes)
	if err != nil {
		t.Fatal(err)
	}
	w.Put("list.json", data, 0o644)
	return []string{w.Bring("netprobe"), "list.json", "answers.json", proxy4, proxy6, "0s"}
}

// answers reads what netprobe wrote.
func answers(t testing.TB, w *world.World, r world.Result) map[string]probe.Answer {
	t.Helper()
	data, err := os.ReadFile(w.Wrote("answers.json"))
	if err != nil {
		t.Fatalf("no answers: %v\nstatus %d\n%s%s", err, r.Status, r.Stdout, r.Stderr)
	}
	var list []probe.Answer
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]probe.Answer{}
	for _, a := range list {
		out[a.ID] = a
	}
	return out
}

// The proxy endpoint inside.
const inside4, inside6 = "127.0.0.1:808", "[::1]:808"

// try makes attempts in a sandbox.
func try(t testing.TB, w *world.World, flags []string, probes []probe.Probe) (map[string]probe.Answer, world.Result) {
	t.Helper()
	return tryAt(t, w, flags, probes, "0s")
}

// tryAt makes them with a pause between one and the next.
func tryAt(t testing.TB, w *world.World, flags []string, probes []probe.Probe, pace string) (map[string]probe.Answer, world.Result) {
	t.Helper()
	argv := ask(t, w, probes, inside4, inside6)
	argv[len(argv)-1] = pace
	args := slices.Concat(flags, []string{"--"}, argv)
	r := w.Run(args...)
	if r.Status != 0 {
		t.Fatalf("netprobe: status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
	return answers(t, w, r), r
}

// outside is the control of a list: on the host each of them is done.
func outside(t testing.TB, w *world.World, list []probe.Probe) {
	t.Helper()
	v4, v6 := careless(t)
	for id, a := range answers(t, w, w.Bare(ask(t, w, list, v4, v6)...)) {
		if !a.Done && !strings.Contains(string(a.Got), "HTTP/1.1 200 OK") {
			t.Errorf("%s is closed on the host: it proves nothing: %s", id, show(a))
		}
	}
}

// serve starts one of our servers on the internet and returns where its log is.
func serve(t testing.TB, w *world.World, kind, address string) string {
	t.Helper()
	dir, err := os.MkdirTemp(world.Net, "netserve-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "log")
	w.Serve(address, world.Program("netserve"), kind, address, path)
	return path
}

func readLog(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
