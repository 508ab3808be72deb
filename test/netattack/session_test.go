package netattack

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// session is one that runs beside the test.
type session struct {
	id   string
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan error
}

// start launches a session and waits until its journal begins.
func start(t *testing.T, w *world.World, args ...string) *session {
	t.Helper()
	before := journals(w)
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{cmd: w.Command(ctx, append([]string{"run"}, args...)...), done: make(chan error, 1)}
	var out bytes.Buffer
	s.cmd.Stdout, s.cmd.Stderr = &out, &out
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(func() {
		s.in.Close()
		select {
		case err := <-s.done:
			s.done <- err
		case <-time.After(wait.Patience):
		}
		cancel()
		if t.Failed() {
			t.Logf("%q: %s", s.cmd.Args, &out)
		}
	})
	wait.Eventually(t, "the session's journal", func() bool {
		for _, path := range journals(w) {
			if !slices.Contains(before, path) {
				s.id = strings.TrimSuffix(filepath.Base(path), ".jsonl")
			}
		}
		return s.id != ""
	})
	return s
}

func journals(w *world.World) []string {
	paths, _ := filepath.Glob(filepath.Join(w.State, "ringfence/journal/*.jsonl"))
	return paths
}

// twoSessions (NT-019): what belongs to one session is out of reach of another, and
// there is nothing on the host's network that one could connect to.
func twoSessions(t *testing.T, sum *summary) {
	sum.add(&row{id: "NT-019", family: "4"})
	sum.add(&row{id: "NT-019", family: "6"})
	w := begin(t)
	w.Answer("first-only.test", []string{denied4})
	before := listeners(t)
	first := start(t, w, "--allow-host", "first-only.test", "--", "cat")
	if got := listeners(t); !slices.Equal(got, before) {
		t.Errorf("a session listens on the host: %q, before %q", got, before)
	}
	name := fmt.Sprintf("@ringfence/%d/%s", os.Getuid(), first.id)
	binary, err := os.ReadFile(stage.Ringfence)
	if err != nil {
		t.Fatal(err)
	}
	w.Put("ringfence", binary, 0o755)
	grant := []string{"./ringfence", "grant", first.id, "--host", "denied.test", "--session"}
	list := []probe.Probe{
		{ID: "socket", Look: name}, {ID: "grant", Command: grant}, {ID: "requests", Command: []string{"./ringfence", "requests", first.id}},
		tunnel(connectTo("first-only.test:443"), "origin ", inTLS("first-only.test")...),
	}
	list[3].ID = "connect"
	got, r := try(t, w, nil, list)
	for _, a := range got {
		if a.Done {
			t.Errorf("%s: OPEN: %s", a.ID, show(a))
		}
	}
	if !strings.Contains(string(got["connect"].Got), status(403)) {
		t.Errorf("what another session may reach: %s", show(got["connect"]))
	}
	if s := (&seen{records: r.Journal}); !s.has("deny", "connect first-only.test:443") {
		t.Error("that is not in the journal")
	}
	// The control: on the host all of that is open.
	outside(t, w, list)
}

// listeners are the TCP and UDP sockets of the host that wait for somebody.
func listeners(t *testing.T) (out []string) {
	t.Helper()
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6"} {
		b, err := os.ReadFile("/proc/net/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 3 && (f[3] == "0A" || f[3] == "07" && strings.HasPrefix(name, "udp")) {
				out = append(out, name+" "+f[1])
			}
		}
	}
	slices.Sort(out)
	return out
}

// killed (NT-020): without its supervisor a session has no network and does not live
// on.
func killed(t *testing.T, sum *summary) {
	sum.add(&row{id: "NT-020"})
	w := begin(t)
	w.Answer("hold.wild.test", []string{"203.0.113.40"})
	log := serve(t, w, "hold", "203.0.113.40:9000")
	script := `exec 3<>/dev/tcp/hold.wild.test/9000; read -r line <&3; echo "$line" >&3
		while :; do curl -sS -m2 http://allowed.test/ >>got; curl -sS -m2 http://` + denied4 + `/ >>refused; done`
	s := start(t, w, "--allow-host", "hold.wild.test:9000", "--allow-host", "allowed.test", "--", "bash", "-c", script)
	wait.Eventually(t, "the connection that is held", func() bool { return strings.Contains(readLog(t, log), "held") })
	wait.Eventually(t, "something that got through", func() bool {
		b, _ := os.ReadFile(w.Wrote("got"))
		return bytes.Contains(b, []byte("origin"))
	})
	ends := strings.Count(readLog(t, log), "end\n")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Eventually(t, "the end of the connection", func() bool { return strings.Count(readLog(t, log), "end\n") > ends })
	wait.Eventually(t, "the end of the processes", func() bool { return len(inside(t, w.Dir)) == 0 && !running("ringfence") })
	// Who could dial is gone, so what was dialled is all there will be. What the session
	// did before it knew of the death went where it may.
	for _, p := range w.Dialled() {
		if at := packetText(p); !dialled(p) && at != "tcp 203.0.113.40:9000" {
			t.Errorf("dialled: %s", at)
		}
	}
	if b, _ := os.ReadFile(w.Wrote("refused")); bytes.Contains(b, []byte("origin")) {
		t.Errorf("an address was reached: %q", b)
	}
}

// running tells whether a program of this name runs on the stage.
func running(name string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/comm")
	return slices.ContainsFunc(paths, func(p string) bool {
		b, _ := os.ReadFile(p)
		stat, _ := os.ReadFile(filepath.Dir(p) + "/stat")
		return strings.TrimSpace(string(b)) == name && !strings.Contains(string(stat), ") Z ")
	})
}

// inside lists the processes that work in a directory.
func inside(t *testing.T, dir string) (out []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if to, err := os.Readlink(p); err == nil && to == dir {
			out = append(out, p)
		}
	}
	return out
}

// published (NT-015): a port that is shown on the host is shown on its loopback
// alone, and no other is.
func published(t *testing.T, sum *summary) {
	sum.add(&row{id: "NT-015", family: "4"})
	w := begin(t)
	server := `for p in 3000 3001; do socat TCP-LISTEN:$p,reuseaddr,fork SYSTEM:'echo inside' & done; cat`
	start(t, w, "--publish", "3000", "--", "bash", "-c", server)
	hear := func(at string) string {
		c, err := net.DialTimeout("tcp", at, time.Second)
		if err != nil {
			return ""
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(2 * time.Second))
		b, _ := io.ReadAll(c)
		return string(b)
	}
	wait.Eventually(t, "the server inside", func() bool { return hear("127.0.0.1:3000") == "inside\n" })
	for _, at := range []string{world.Host4 + ":3000", world.HostPrivate4 + ":3000", "[" + world.Host6 + "]:3000", "[::1]:3000", "127.0.0.2:3000", "127.0.0.1:3001", "[::1]:3001"} {
		if got := hear(at); got != "" {
			t.Errorf("%s of the host leads inside: %q", at, got)
		}
	}
}
