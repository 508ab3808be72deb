package gate

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// session is the id of a session.
const session = "k7m2qz04ab"

// listenLocal is a listener on a loopback.
func listenLocal(t *testing.T, at string) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatalf("%s is missing here: %v", at, err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// recording is a gate that records, and what it recorded, by which it is closed.
func recording(t *testing.T, conf Config) (g *Gate, records func() []journal.Record) {
	t.Helper()
	dir := t.TempDir()
	conf.Journal = journal.Create(dir, session)
	g, err := New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close(); conf.Journal.Close() })
	return g, func() (out []journal.Record) {
		t.Helper()
		g.Close()
		conf.Journal.Close()
		r, err := journal.Open(dir, session)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			record, err := r.Next()
			if errors.Is(err, io.EOF) {
				return out
			}
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, record)
		}
	}
}

// opened is a gate that accepts at a port, what it recorded, and its address.
func opened(t *testing.T, slots int, handle func(g *Gate, c rung.Conn)) (g *Gate, records func() []journal.Record, at string) {
	t.Helper()
	g, records = recording(t, Config{})
	g.slots = make(chan struct{}, slots)
	l := listenLocal(t, "127.0.0.1:0")
	g.sockets.listen(l)
	g.tasks.Go(func() { g.accept(netns.Listener{TCPListener: l}, func(c rung.Conn) { handle(g, c) }) })
	return g, records, l.Addr().String()
}

func dial(t *testing.T, at string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// wantReset connects and is reset; that may come before Dial has returned.
func wantReset(t *testing.T, at string) {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err == nil {
		_, err = c.Read(make([]byte, 1))
		c.Close()
	}
	if !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("no reset but %v", err)
	}
}

// reasons is why something was refused.
func reasons(records []journal.Record) (out []string) {
	for _, r := range records {
		if r.Verdict == journal.Deny {
			out = append(out, r.Reason)
		}
	}
	return out
}

func TestTooManyAreResetAndTold(t *testing.T) {
	inside := make(chan struct{})
	_, records, at := opened(t, 1, func(g *Gate, c rung.Conn) {
		close(inside)
		<-g.ctx.Done()
	})
	dial(t, at)
	<-inside
	wantReset(t, at)
	if got := reasons(records()); len(got) != 1 || got[0] != "too many connections are open at once" {
		t.Errorf("told %q", got)
	}
}

func TestFaultCostsOneConnection(t *testing.T) {
	var met atomic.Bool
	_, records, at := opened(t, 2, func(g *Gate, c rung.Conn) {
		if met.CompareAndSwap(false, true) {
			panic("a fault")
		}
		io.WriteString(c, "well")
	})
	wantReset(t, at)
	if b, err := io.ReadAll(dial(t, at)); string(b) != "well" || err != nil {
		t.Errorf("the next one: %q, %v", b, err)
	}
	if got := reasons(records()); len(got) != 1 || got[0] != "a fault" {
		t.Errorf("told %q", got)
	}
}

// TestHostPort: a server on either loopback of the host is found, also when it moves.
func TestHostPort(t *testing.T) {
	for _, where := range []string{"127.0.0.1:0", "[::1]:0"} {
		server := listenLocal(t, where)
		port := netip.MustParseAddrPort(server.Addr().String()).Port()
		go func() {
			for {
				c, err := server.Accept()
				if err != nil {
					return
				}
				io.Copy(c, c)
				c.Close()
			}
		}()
		g, _, at := opened(t, 2, func(g *Gate, c rung.Conn) { g.hostPort(c, port) })
		g.rules.at.Store(newTable(policy.Reach{Mode: "dev", HostPorts: []uint16{port}}))
		c := dial(t, at)
		io.WriteString(c, "there and back")
		c.CloseWrite()
		if b, err := io.ReadAll(c); string(b) != "there and back" || err != nil {
			t.Errorf("%s: %q, %v", where, b, err)
		}
		server.Close()
		wantReset(t, at)
		g.Close()
	}
}
