package netfaults

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m, "../grants/"+hand.Puppet) }

const (
	allowedWeb = "http://" + world.Allowed + "/"
	allowedTLS = "https://" + world.Allowed + "/"
)

// origins counts them: each has an address of its own, because one that is about to
// end may still answer.
var origins = 100

// origin puts a badly behaved server on the internet, under a name, and returns the
// file that tells of its connections.
func origin(t *testing.T, w *world.World, name string, port int, kind string) (log string) {
	t.Helper()
	origins++
	host := fmt.Sprintf("203.0.113.%d", origins)
	w.Answer(name, []string{host})
	log = filepath.Join(world.Net, fmt.Sprintf("%s-%d.log", name, time.Now().UnixNano()))
	address := fmt.Sprintf("%s:%d", host, port)
	w.Serve(address, world.Program(hand.Puppet), "origin", kind, address, log)
	return log
}

// told reads what an origin wrote. Its first connection is the world's own, which
// looked whether it is there.
func told(t *testing.T, log string) string {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// standing counts the connections that stand inside, from the puppet's end.
func standing(t *testing.T) (n int) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		if b, _ := os.ReadFile(name); strings.TrimSpace(string(b)) != hand.Puppet {
			continue
		}
		for _, file := range []string{"/net/tcp", "/net/tcp6"} {
			b, err := os.ReadFile(filepath.Dir(name) + file)
			if err != nil {
				t.Fatal(err)
			}
			n += strings.Count(string(b), " 01 ")
		}
		return n
	}
	t.Fatal("there is no puppet")
	return 0
}

// memory reads a line of a process's status, in bytes.
func memory(t *testing.T, pid int, line string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(line + `:\s+(\d+) kB`).FindStringSubmatch(string(b))
	if m == nil {
		t.Fatalf("no %s: %s", line, b)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64)
	return n << 10
}

// socket is a TCP socket of the host.
type socket struct {
	from, to  netip.AddrPort
	listening bool
	held      bool // by a process; others the kernel keeps for a while
}

// sockets lists those of the host.
func sockets(t *testing.T) (out []socket) {
	t.Helper()
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) > 9 && strings.Contains(f[1], ":") {
				out = append(out, socket{place(t, f[1]), place(t, f[2]), f[3] == "0A", f[9] != "0"})
			}
		}
	}
	return out
}

// place reads an address as the kernel writes it: words in the machine's order.
func place(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	if err != nil {
		t.Fatal(err)
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	a, _ := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(n))
}

// connections counts the host's connections to a port of the internet that somebody
// holds, also when one side has ended; 0 means all ports.
func connections(t *testing.T, port uint16) (n int) {
	t.Helper()
	for _, s := range sockets(t) {
		if s.held && !s.listening && !s.to.Addr().IsLoopback() && (port == 0 || s.to.Port() == port) {
			n++
		}
	}
	return n
}

// served checks that a session still gets what it may.
func served(t *testing.T, s *hand.Session, when string) {
	t.Helper()
	for _, url := range []string{allowedWeb, allowedTLS} {
		if a := s.Do(order.Order{Do: "get", At: url}); a.Status != 200 {
			t.Errorf("%s: %s: %+v", when, url, a)
		}
	}
}
