package clients

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// background runs a session that says when it is ready, and ends it with the test.
func background(t *testing.T, w *world.World, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := w.Command(ctx, append([]string{"run"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "listening\n" {
		t.Fatalf("the server inside said %q, %v", line, err)
	}
}

// said is what a server of the host says, or how it cannot be reached.
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

// hostAddresses are those of the host but 127.0.0.1.
var hostAddresses = []string{world.Host4, world.HostPrivate4, "[" + world.Host6 + "]", "[" + world.HostPrivate6 + "]", "[::1]", "127.0.0.2"}

func TestPublish(t *testing.T) {
	for _, c := range []struct{ name, flag, at, inside string }{
		{"the same port", "3000", "3000", "127.0.0.1:3000"},
		{"another port", "3001:3000", "3001", "127.0.0.1:3000"},
		{"a server on the other loopback", "3000", "3000", "[::1]:3000"},
		{"a server on all addresses", "3000", "3000", ":3000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := world.New(t)
			w.Bring("client")
			background(t, w, "--publish", c.flag, "--", "./client", "serve", c.inside)
			if got := said("127.0.0.1:" + c.at); !strings.HasPrefix(got, "hello from ") {
				t.Errorf("not published: %s", got)
			}
			for _, a := range hostAddresses {
				if got := said(a + ":" + c.at); !strings.Contains(got, "refused") {
					t.Errorf("%s:%s: %s", a, c.at, got)
				}
			}
			if !slices.ContainsFunc(w.Journal(), func(r journal.Record) bool {
				return r.Event == journal.Decision && r.Via == "publish" && r.Port == 3000 && r.Verdict == journal.Allow
			}) {
				t.Errorf("not in the journal: %+v", w.Journal())
			}
		})
	}
	t.Run("not asked for", func(t *testing.T) {
		w := world.New(t)
		w.Bring("client")
		background(t, w, "--", "./client", "serve", ":3000")
		for _, a := range append(hostAddresses, "127.0.0.1") {
			if got := said(a + ":3000"); !strings.Contains(got, "refused") {
				t.Errorf("%s:3000: %s", a, got)
			}
		}
	})
}

// TestHostPort: exactly the port that was named, on the loopback that is everybody's
// own, and by no other address of the host.
func TestHostPort(t *testing.T) {
	w := world.New(t)
	w.Bring("client")
	for _, at := range []string{"0.0.0.0:5433", "0.0.0.0:5434"} {
		l, err := net.Listen("tcp", at)
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
				fmt.Fprintln(c, "this is the host")
				c.Close()
			}
		}()
	}
	for _, c := range []struct {
		address string
		open    bool
	}{
		{"127.0.0.1:5433", true},
		{"localhost:5433", true},
		{"127.0.0.1:5434", false},
		{"127.0.0.2:5433", false},
		{world.Host4 + ":5433", false},
		{world.HostPrivate4 + ":5433", false},
		{world.Host4 + ":5434", false},
	} {
		t.Run(c.address, func(t *testing.T) {
			if got := said(c.address); got != "this is the host\n" {
				t.Errorf("control: %s", got)
			}
			r := w.Run("--host-port", "5433", "--", "./client", "greeting", c.address)
			if got := r.Stdout == "this is the host\n"; got != c.open {
				t.Errorf("reached: %v, want %v: %+v", got, c.open, r)
			}
			if got := slices.ContainsFunc(r.Journal, func(r journal.Record) bool {
				return r.Event == journal.End && r.Via == "host-port" && r.Port == 5433 && r.Received > 0
			}); got != c.open {
				t.Errorf("in the journal: %v, want %v: %+v", got, c.open, r.Journal)
			}
		})
	}
}
