package netfaults

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

const published = "127.0.0.1:3000"

// busy starts a session that sends and receives as fast as it can, over each kind of
// connection, and waits until all of it runs. It returns the origins' logs.
func busy(t *testing.T, w *world.World) (s *hand.Session, logs []string) {
	t.Helper()
	logs = []string{origin(t, w, "sink.test", 9000, "sink"), origin(t, w, "source.test", 9001, "source")}
	s = hand.Start(t, w, "--allow-host", "sink.test:9000", "--allow-host", "source.test:9001", "--allow-host", world.Allowed, "--publish", "3000")
	for i := range 2 { // the second finds the name known, and may take a shorter way
		s.Begin(order.Order{Do: "flood", At: "sink.test:9000", Text: "send"})
		s.Begin(order.Order{Do: "flood", At: "source.test:9001"})
		wait.Eventually(t, "both origins are reached", func() bool { return connections(t, 9000) > i && connections(t, 9001) > i })
	}
	for name, at := range map[string]string{"http": world.Allowed + ":80", "tls": "https://" + world.Allowed + ":443"} {
		o := order.Order{Do: "open", At: at, Keep: name, Text: "GET /bytes/1000000000000 HTTP/1.1\r\nHost: " + world.Allowed + "\r\n\r\n"}
		if a := s.Do(o); a.Error != "" {
			t.Fatal(a.Error)
		}
		s.Begin(order.Order{Do: "ended", Keep: name, For: wait.Patience})
	}
	s.Do(order.Order{Do: "listen", At: published})
	for _, log := range logs {
		wait.Eventually(t, "the middle of it: "+log, func() bool { return strings.Count(told(t, log), "moved ") >= 2 })
	}
	return s, logs
}

// ended waits until origins have seen the end of every connection.
func ended(t *testing.T, logs []string) {
	t.Helper()
	for _, log := range logs {
		took := wait.Eventually(t, "the origin sees the end: "+log, func() bool {
			said := told(t, log)
			return strings.Count(said, "open ") == strings.Count(said, "end ")
		})
		said := strings.Split(strings.TrimSpace(told(t, log)), "\n")
		t.Logf("after %s: %s", took, said[len(said)-1])
	}
}

// TestKill: the supervisor is killed in the middle of transfers. Everything ends.
func TestKill(t *testing.T) {
	w := world.New(t)
	s, logs := busy(t, w)
	if left := leftovers(t); len(left) < 4 {
		t.Fatalf("control: a running session is not seen: %q", left)
	}
	s.Cmd.Process.Kill()
	<-s.Exited()
	ended(t, logs)
	var left []string
	defer func() {
		if len(left) > 0 {
			t.Logf("left behind: %q", left)
		}
	}()
	took := wait.Eventually(t, "nothing is left behind", func() bool { left = leftovers(t); return len(left) == 0 })
	t.Logf("nothing left after %s", took)
	if r := hand.Ringfence(t, w, "requests"); strings.Contains(r.Stdout, s.ID) {
		t.Errorf("requests: %+v", r)
	}
	if r := hand.Ringfence(t, w, "log", s.ID); r.Status != 0 || !strings.Contains(r.Stdout, "allow sink.test:9000") {
		t.Errorf("log: %+v", r)
	}
	if r := hand.Ringfence(t, w, "log", "verify", s.ID); r.Status != 0 || !strings.Contains(r.Stdout, "  unfinished  its writer was killed: ") {
		t.Errorf("log verify: %+v", r)
	}
	next := hand.Start(t, w, "--allow-host", world.Allowed)
	served(t, next, "the next session")
}

// TestFarEndKilled: the far end is killed in the middle of transfers. The session ends with
// a plain error, and nothing is left. The other end's death is TestKill.
func TestFarEndKilled(t *testing.T) {
	if !built.Loop() {
		t.Skip("there is no far end")
	}
	w := world.New(t)
	s, logs := busy(t, w)
	end := farEnd(t, s.Cmd.Process.Pid)
	began := time.Now()
	if err := syscall.Kill(end, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Exited():
	case <-time.After(wait.Patience):
		t.Fatal("it does not end")
	}
	t.Logf("ended after %s", time.Since(began))
	ended(t, logs)
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if said := s.Screen(); !strings.Contains(said, "the far end is gone") {
		t.Errorf("the person was told %q", said)
	}
	if r := hand.Ringfence(t, w, "log", "verify", s.ID); r.Status != 0 {
		t.Errorf("log verify: %+v", r)
	}
}

// farEnd is the child of a supervisor that is the far end of its session.
func farEnd(t *testing.T, supervisor int) int {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		stat, _ := os.ReadFile(filepath.Dir(name) + "/stat")
		b, _ := os.ReadFile(name)
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(string(b), far.Name+"\x00") && strings.Fields(rest)[1] == strconv.Itoa(supervisor) {
			return pid
		}
	}
	t.Fatal("there is no far end")
	return 0
}

// leftovers lists what there is of sessions on the stage.
func leftovers(t *testing.T) (out []string) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		if b, _ := os.ReadFile(name); slices.Contains([]string{"ringfence", hand.Puppet}, strings.TrimSpace(string(b))) {
			if stat, _ := os.ReadFile(filepath.Dir(name) + "/stat"); !strings.Contains(string(stat), ") Z ") {
				out = append(out, fmt.Sprintf("process %s %s", filepath.Dir(name), strings.TrimSpace(string(b))))
			}
		}
	}
	for _, g := range stage.Groups() {
		out = append(out, "group "+g)
	}
	b, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "@ringfence/") {
			out = append(out, "socket "+strings.TrimSpace(line))
		}
	}
	if n := connections(t, 0); n > 0 {
		out = append(out, fmt.Sprintf("%d connections", n))
	}
	for _, s := range sockets(t) {
		if s.from.String() == published && s.listening {
			out = append(out, "the published port")
		}
	}
	return out
}

// TestEnd: the gate closes in the middle of transfers, because the session ends or is
// told to. The journal is whole.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*hand.Session)
	}{
		{"the command ends", func(s *hand.Session) { s.Stop() }},
		{"SIGTERM", func(s *hand.Session) { s.Cmd.Process.Signal(syscall.SIGTERM) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			s, logs := busy(t, w)
			began := time.Now()
			c.end(s)
			select {
			case <-s.Exited():
			case <-time.After(wait.Patience):
				t.Fatal("it does not end")
			}
			t.Logf("ended after %s", time.Since(began))
			ended(t, logs)
			if _, err := net.DialTimeout("tcp", published, time.Second); err == nil {
				t.Error("the published port still answers")
			}
			all := w.Journal()
			if last := all[len(all)-1]; last.Kind != journal.Session || last.Event != journal.Exit {
				t.Errorf("the last record: %+v", last)
			}
			open := map[uint64]journal.Record{}
			for _, r := range all {
				switch {
				case r.Event == journal.Decision && r.Verdict == journal.Allow && r.Conn != 0:
					open[r.Conn] = r
				case r.Event == journal.End:
					if r.Sent == 0 && r.Received == 0 && r.Via != "publish" {
						t.Errorf("no bytes: %+v", r)
					}
					delete(open, r.Conn)
				}
			}
			if len(open) > 0 {
				t.Errorf("no end of %+v", open)
			}
			if left := leftovers(t); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
