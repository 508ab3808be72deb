package netattack

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// ambient (PX-055): what stands about on the host steers nothing: a hosts file is an
// answer like any other, and proxies of the environment are not used.
func ambient(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-055", family: "4"})
	sum.add(&row{id: "PX-055", family: "6"})
	w := begin(t)
	log := serve(t, w, "connect", proxyAddr)
	w.Hosts("127.0.0.1 a.wild.test\n::1 b.wild.test\n10.0.0.1 c.wild.test\n" + world.Host4 + " d.wild.test\n" + public4 + " e.wild.test\n")
	var list []probe.Probe
	for name, family := range map[string]string{"a": "4", "b": "6", "c": "4", "d": "4", "e": "4"} {
		for _, r := range byName(name, name+".wild.test", family, "canary ") {
			r.p.ID = name + " " + r.what
			list = append(list, r.p)
		}
	}
	direct := talk("allowed.test:443", 4, "origin ", inTLS("allowed.test")...)
	direct.ID = "direct"
	list = append(list, direct)

	args := slices.Concat([]string{"run"}, base, []string{"--"}, ask(t, w, list, inside4, inside6))
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	defer cancel()
	cmd := w.Command(ctx, args...)
	for _, v := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		cmd.Env = append(cmd.Env, v+"=http://"+proxyAddr)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for id, a := range answers(t, w, world.Result{}) {
		good := id == "direct" || strings.HasPrefix(id, "e ")
		if a.Done != good {
			t.Errorf("%s: reached %v, want %v: %s", id, a.Done, good, show(a))
		}
	}
	if got := readLog(t, log); strings.Contains(got, "CONNECT") {
		t.Errorf("the proxy of the environment was used: %q", got)
	}
	for _, p := range w.Dialled() {
		if !dialled(p) && packetText(p) != "tcp "+proxyAddr { // the test itself looks whether the proxy answers
			t.Errorf("dialled: %s", packetText(p))
		}
	}
	// The control: on the host those names are what the hosts file says.
	outside(t, w, list)
}

// searched (DN-007): the host's list of domains is neither shown nor used.
func searched(t *testing.T, sum *summary) {
	sum.add(&row{id: "DN-007"})
	w := begin(t)
	const file = "/etc/resolv.conf"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile(file, old, 0) })
	if err := os.WriteFile(file, []byte("search corp.test\n"+string(old)), 0); err != nil {
		t.Fatal(err)
	}
	list := []probe.Probe{
		{ID: "search", Look: "search"},
		{ID: "printer", Command: []string{"getent", "hosts", "printer"}},
		{ID: "allowed", Command: []string{"curl", "-sSf", "-m15", "http://allowed.test/"}},
		{ID: "none", Command: []string{"curl", "-sSf", "-m15", "http://none.wild.test/"}},
	}
	w.Answer("none.wild.test")
	got, _ := try(t, w, base, list)
	for id, want := range map[string]bool{"search": false, "printer": false, "allowed": true, "none": false} {
		if got[id].Done != want {
			t.Errorf("%s: %v, want %v: %s", id, got[id].Done, want, show(got[id]))
		}
	}
	for _, q := range w.Queries() {
		if strings.HasSuffix(q.Name, "corp.test") {
			t.Errorf("asked for: %+v", q)
		}
	}
	outside(t, w, list[:2])
}

// rebound (DN-009): a name that was good once is looked at again. The address that a
// sandbox holds stands for the name, not for what it was.
func rebound(t *testing.T, sum *summary) {
	sum.add(&row{id: "DN-009", family: "4"})
	sum.add(&row{id: "DN-009", family: "6"})
	w := begin(t)
	w.Answer("re4.wild.test", []string{public4}, []string{"10.0.0.1"})
	w.Answer("re6.wild.test", []string{public6}, []string{"fd00::1"})
	w.Answer("own.wild.test", []string{public4}, []string{world.Host4})
	var list []probe.Probe
	for _, name := range []string{"re4", "re6", "own"} {
		fam := map[string]string{"re6": "6"}[name]
		if fam == "" {
			fam = "4"
		}
		r := byName("", name+".wild.test", fam, "canary ")[0]
		r.p.ID = name
		list = append(list, r.p)
	}
	for i, want := range []bool{true, false, false} {
		got, _ := try(t, w, base, list)
		for id, a := range got {
			if a.Done != want {
				t.Errorf("session %d: %s: reached %v, want %v: %s", i, id, a.Done, want, show(a))
			}
		}
	}
	for _, p := range w.Dialled() {
		if !dialled(p) {
			t.Errorf("dialled: %s", packetText(p))
		}
	}
	outside(t, w, list)
}

// crowded (DN-005): more names than the gate remembers. An address that stood for one
// never stands for another soon.
func crowded(t *testing.T, sum *summary) {
	sum.add(&row{id: "DN-005"})
	w := begin(t)
	const many = 17000 // the gate remembers 16384
	first := probe.Probe{ID: "first", Ask: &probe.Ask{Bytes: question("first.wild.test", dnsmessage.TypeA, 0)}}
	list := []probe.Probe{{ID: "many", Names: &probe.Names{First: first.Ask.Bytes, Suffix: "n.wild.test", Count: many, Port: canaryPort}, Seconds: 90}}
	got, _ := try(t, w, base, list)
	a := got["many"]
	if a.Done || a.Text == "" {
		t.Errorf("an address that was given to another name leads there: %s", show(a))
	}
	for _, q := range w.Queries() {
		if q.Name != "first.wild.test" {
			t.Errorf("asked for: %+v", q)
		}
	}
}
