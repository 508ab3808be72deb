package relay

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// The benchmarks compare three ways to the same origin: directly, over a relay of
// two io.Copy for each connection, and over this package. Origin and relays are
// processes of their own, as they are in life. Run them with -count and compare
// medians:
//
//	go test -run '^$' -bench . -count 5 ./internal/network/relay

func TestMain(m *testing.M) {
	role, arg, _ := strings.Cut(os.Getenv("RELAY_BENCH"), " ")
	if run := map[string]func(*net.TCPListener, string){"origin": benchOrigin, "copy": benchCopy, "relay": benchRelay}[role]; run != nil {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			panic(err)
		}
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
			os.Exit(0)
		}()
		fmt.Println(l.Addr())
		run(l, arg)
	}
	os.Exit(m.Run())
}

const question, answer = 64, 128

// benchOrigin answers each question: with a short answer, or with as many bytes as
// it says.
func benchOrigin(l *net.TCPListener, _ string) {
	block := make([]byte, 256<<10)
	for {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			q := make([]byte, question)
			for {
				if _, err := io.ReadFull(c, q); err != nil {
					return
				}
				for n := int(binary.BigEndian.Uint64(q)); n > 0; n -= len(block) {
					if _, err := c.Write(block[:min(n, len(block))]); err != nil {
						return
					}
				}
			}
		}()
	}
}

func benchCopy(l *net.TCPListener, origin string) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			panic(err)
		}
		go func() {
			defer c.Close()
			d, err := net.Dial("tcp", origin)
			if err != nil {
				return
			}
			o := d.(*net.TCPConn)
			defer o.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				_, _ = io.Copy(o, c)
				_ = o.CloseWrite()
			})
			_, _ = io.Copy(c, o)
			_ = c.CloseWrite()
			wg.Wait()
		}()
	}
}

func benchRelay(l *net.TCPListener, origin string) {
	e, err := New()
	if err != nil {
		panic(err)
	}
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			panic(err)
		}
		go func() {
			o, err := net.Dial("tcp", origin)
			if err != nil {
				c.Close()
				return
			}
			_, _ = e.Pair(c, o.(*net.TCPConn), Options{Idle: wait.Patience})
		}()
	}
}

// spawn starts a process with one of the roles and returns its address.
func spawn(b *testing.B, role string) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), "RELAY_BENCH="+role)
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = c.Wait()
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// ways runs a benchmark over each way.
func ways(b *testing.B, run func(b *testing.B, addr string)) {
	origin := spawn(b, "origin")
	for _, w := range []struct{ name, addr string }{
		{"direct", origin}, {"copy", spawn(b, "copy "+origin)}, {"relay", spawn(b, "relay "+origin)},
	} {
		b.Run(w.name, func(b *testing.B) { run(b, w.addr) })
	}
}

// ask sends a question and reads n bytes.
func ask(b *testing.B, c net.Conn, buf []byte, n int) {
	q := binary.BigEndian.AppendUint64(nil, uint64(n))
	if _, err := c.Write(append(q, make([]byte, question-len(q))...)); err != nil {
		b.Fatal(err)
	}
	for n > 0 {
		k, err := c.Read(buf[:min(n, len(buf))])
		if err != nil {
			b.Fatal(err)
		}
		n -= k
	}
}

func reach(b *testing.B, addr string) net.Conn {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// median reports the median of durations as a figure of its own.
func median(b *testing.B, d []time.Duration) {
	slices.Sort(d)
	b.ReportMetric(float64(d[len(d)/2].Nanoseconds()), "p50-ns")
}

func BenchmarkBulk(b *testing.B) {
	ways(b, func(b *testing.B, addr string) {
		c := reach(b, addr)
		defer c.Close()
		buf := make([]byte, 256<<10)
		const size = 64 << 20
		b.SetBytes(size)
		for b.Loop() {
			ask(b, c, buf, size)
		}
	})
}

func BenchmarkFresh(b *testing.B) {
	ways(b, func(b *testing.B, addr string) {
		var all []time.Duration
		buf := make([]byte, answer)
		for b.Loop() {
			t := time.Now()
			c := reach(b, addr)
			ask(b, c, buf, answer)
			c.Close()
			all = append(all, time.Since(t))
		}
		median(b, all)
	})
}

func BenchmarkKeepAlive(b *testing.B) {
	ways(b, func(b *testing.B, addr string) {
		c := reach(b, addr)
		defer c.Close()
		var all []time.Duration
		buf := make([]byte, answer)
		for b.Loop() {
			t := time.Now()
			ask(b, c, buf, answer)
			all = append(all, time.Since(t))
		}
		median(b, all)
	})
}

func BenchmarkConcurrent16(b *testing.B) {
	ways(b, func(b *testing.B, addr string) {
		var wg sync.WaitGroup
		for i := range 16 {
			n := (b.N + i) / 16
			wg.Go(func() {
				c := reach(b, addr)
				defer c.Close()
				buf := make([]byte, answer)
				for range n {
					ask(b, c, buf, answer)
				}
			})
		}
		wg.Wait()
	})
}
