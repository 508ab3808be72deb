package netattack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/world"
)

const (
	crowd   = 170      // at each of three doors
	maxGrow = 32 << 10 // KiB that the supervisor may take for all of it
)

// large are requests that want to be kept in memory.
func large() []probe.Probe {
	flood := func(id string, first, each string, times int) probe.Probe {
		p := talk(probe.Proxy4, 0, "", probe.Say(first), probe.Step{Send: []byte(each), Flood: times})
		p.ID = id
		return p
	}
	const head = "GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n"
	block := strings.Repeat("a", 64<<10)
	direct := talk("allowed.test:80", 4, "", probe.Say("GET /"), probe.Step{Send: []byte(block), Flood: 16})
	direct.ID = "414 a line of 1 MiB straight"
	return []probe.Probe{
		flood("414 a line of 1 MiB", "GET http://allowed.test/", block, 16),
		flood("431 10000 fields", head, "a: b\r\n", 10_000),
		flood("431 a field of 20 MiB", head+"a: ", block, 320),
		flood("431 a name of 20 MiB", head, block, 320),
		direct,
	}
}

// slow are clients that take their time. All of them are let go.
func slow() []probe.Probe {
	drip := func(id, to string, family int, raw []byte, first ...probe.Step) probe.Probe {
		p := talk(to, family, "", append(first, probe.Step{Send: raw, Chop: 1, Pause: 900 * time.Millisecond})...)
		p.ID, p.Seconds = id, 90
		return p
	}
	head := []byte("GET http://allowed.test/slow-" + strings.Repeat("x", 60) + " HTTP/1.1\r\n\r\n")
	chosen := probe.Step{Send: []byte{5, 1, 0}, Until: "\x05\x00"}
	return []probe.Probe{
		drip("a request to the proxy", probe.Proxy4, 0, head),
		drip("a request", "allowed.test:80", 4, head),
		drip("a hello", "allowed.test:443", 6, hello{names: []string{"allowed.test"}}.record()),
		drip("SOCKS5", probe.Proxy4, 0, slices.Concat([]byte{5, 255}, make([]byte, 255))),
		drip("a SOCKS5 request", probe.Proxy4, 0, append([]byte{5, 1, 0, 3, 255}, bytes.Repeat([]byte("a"), 255)...), chosen),
		drip("a hello in a tunnel", probe.Proxy4, 0, hello{names: []string{"allowed.test"}}.record(), probe.Step{Send: []byte(connectTo("allowed.test:443")), Until: established}),
	}
}

// idle are crowds that say nothing.
func idle() []probe.Probe {
	var out []probe.Probe
	for id, to := range map[string]string{"idle at the proxy": probe.Proxy4, "idle at port 443": "allowed.test:443", "idle at port 80": "allowed.test:80"} {
		out = append(out, probe.Probe{ID: id, Seconds: 90, Crowd: &probe.Crowd{Size: crowd, Talk: probe.Talk{To: to, Family: 4}}})
	}
	return out
}

// bounded (PX-046, PX-016): whatever a client sends or does not send, it costs the
// supervisor little and is over soon, and others are served meanwhile. It takes long
// enough for a name that was looked up to be looked up again (DN-009).
func bounded(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-046", family: "4"})
	sum.add(&row{id: "PX-016"})
	w := begin(t)
	w.Answer("later.wild.test", []string{public4}, []string{"10.0.0.1"})
	meanwhile := talk("allowed.test:443", 4, "origin ", probe.Step{Pause: 3 * time.Second, Send: []byte{}, TLS: "allowed.test"}, probe.Say(get("allowed.test")))
	meanwhile.ID = "meanwhile"
	before := byName("", "later.wild.test", "4", "canary ")[0].p
	before.ID = "before"
	after := before
	after.ID, after.Last = "after", true
	list := slices.Concat(large(), slow(), idle(), []probe.Probe{meanwhile, before, after})

	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	waits := []string{"--", "sh", "-c", `echo ready; read -r go; exec "$@"`, "sh"}
	first, most := measure(t, w.Command(ctx, slices.Concat([]string{"run"}, base, waits, ask(t, w, list, inside4, inside6))...))
	t.Logf("the supervisor took %d KiB at first and %d KiB at most", first, most)
	if most-first > maxGrow {
		t.Errorf("the supervisor grew from %d to %d KiB", first, most)
	}
	for id, a := range answers(t, w, world.Result{}) {
		if err := over(id, a); err != nil {
			t.Errorf("%s: %v: %s", id, err, show(a))
		}
	}
	for _, h := range w.Heard() {
		if strings.Contains(string(h.First), "slow-") {
			t.Errorf("a server heard %q", h.First)
		}
	}
	for _, p := range w.Dialled() {
		if !dialled(p) {
			t.Errorf("dialled: %s", packetText(p))
		}
	}
}

// over says what is wrong with how an attempt ended.
func over(id string, a probe.Answer) error {
	switch code, _, _ := strings.Cut(id, " "); {
	case code == "414" || code == "431":
		if !strings.HasPrefix(string(a.Got), "HTTP/1.1 "+code+" ") {
			return errors.New("it is not told what is too large")
		}
	case id == "meanwhile" || id == "before":
		if !a.Done {
			return errors.New("it was not served")
		}
	case a.Done || a.End == probe.Timeout || strings.Contains(string(a.Got), "origin "):
		return errors.New("it is still open")
	}
	return nil
}

// measure runs a session to its end and returns how much memory its supervisor held when
// it was ready, and at most. It waits inside to be told to go on.
func measure(t *testing.T, cmd *exec.Cmd) (first, most int) {
	t.Helper()
	var talk bytes.Buffer
	cmd.Stderr = &talk
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("it is not ready: %q, %v", line, err)
	}
	first = resident(cmd.Process.Pid)
	in.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v\n%s", err, &talk)
			}
			return first, most
		case <-time.After(50 * time.Millisecond):
			most = max(most, resident(cmd.Process.Pid))
		}
	}
}

// resident is how many KiB of memory a process holds.
func resident(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}
