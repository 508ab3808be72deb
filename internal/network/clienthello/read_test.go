package clienthello_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/network/clienthello"
)

// padded is a hello of exactly n bytes as a handshake message.
func padded(n int) []byte {
	empty := message(body(sni("a.test"), ext(21)))
	return message(body(ext(21, make([]byte, n-len(empty))), sni("a.test")))
}

func TestRead(t *testing.T) {
	m := message(browser("a.test"))
	for _, c := range []struct {
		what string
		in   []byte
	}{
		{"one record", record(m)},
		{"one byte a record", records(m, 1)},
		{"three bytes a record", records(m, 3)},
		{"header apart", slices.Concat(record(m[:4]), record(m[4:]))},
		{"a large record", record(padded(1 << 14))},
		{"large records", records(padded(60_000), 1<<14)},
		{"as long as can be", records(padded(clienthello.Max-4*5), 1<<14)},
	} {
		t.Run(c.what, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once":        bytes.NewReader(c.in),
				"byte by byte":   iotest.OneByteReader(bytes.NewReader(c.in)),
				"by halves":      iotest.HalfReader(bytes.NewReader(c.in)),
				"end with bytes": iotest.DataErrReader(bytes.NewReader(c.in)),
			} {
				h, raw, err := clienthello.Read(r)
				if err != nil || h.ServerName != "a.test" || !bytes.Equal(raw, c.in) {
					t.Errorf("%s: %q, %d of %d bytes, %v", how, h.ServerName, len(raw), len(c.in), err)
				}
			}
		})
	}
}

// What follows the hello is not for us.
func TestReadLeavesTheRest(t *testing.T) {
	for _, tail := range []string{"\x14\x03\x03\x00\x01\x01", "\x16\x03\x03\x00\x01\x01", "x"} {
		r := strings.NewReader(string(records(message(body(sni("a.test"))), 20)) + tail)
		if _, _, err := clienthello.Read(r); err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != tail {
			t.Errorf("left %q, not %q", rest, tail)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	m := message(body(sni("a.test")))
	finished := append([]byte{20}, m[1:]...)
	for _, c := range []struct {
		what string
		in   []byte
		want error
	}{
		{"SSH", []byte("SSH-2.0-x\r\n"), clienthello.ErrNotTLS},
		{"HTTP", []byte("GET / HTTP/1.1\r\n"), clienthello.ErrNotTLS},
		{"one letter", []byte("G"), clienthello.ErrNotTLS},
		{"postgres", []byte{0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f}, clienthello.ErrNotTLS},
		{"an alert", []byte{21, 3, 1, 0, 2, 2, 40}, clienthello.ErrNotTLS},
		{"data", []byte{23, 3, 3, 0, 1, 0}, clienthello.ErrNotTLS},
		{"high byte", []byte{0xff, 'S', 'M', 'B'}, clienthello.ErrNotTLS},
		{"SSLv2", []byte{0x80, 0x2e, 1, 3, 1, 0, 0x15}, clienthello.ErrSSLv2},
		{"long SSLv2", []byte{0x81, 0x03, 1, 0, 2}, clienthello.ErrSSLv2},
		{"nothing", nil, clienthello.ErrTruncated},
		{"cut SSLv2", []byte{0x80, 0x2e}, clienthello.ErrTruncated},
		{"short", []byte{22, 3}, clienthello.ErrTruncated},
		{"cut in the message", record(m)[:40], clienthello.ErrTruncated},
		{"cut between records", records(m, 20)[:25], clienthello.ErrTruncated},
		{"record version", []byte{22, 2, 0, 0, 1, 1}, clienthello.ErrMalformed},
		{"empty record", []byte{22, 3, 1, 0, 0}, clienthello.ErrMalformed},
		{"empty record inside", slices.Concat(record(m[:9]), record(nil), record(m[9:])), clienthello.ErrMalformed},
		{"record too long", []byte{22, 3, 1, 0x40, 1}, clienthello.ErrMalformed},
		{"version of the second record", slices.Concat(record(m[:9]), []byte{22, 4, 0, 0, 1}), clienthello.ErrMalformed},
		{"alert inside", slices.Concat(record(m[:9]), []byte{21, 3, 1, 0, 2, 2, 40}), clienthello.ErrMalformed},
		{"another message", record(finished), clienthello.ErrMalformed},
		{"another message, at its first byte", []byte{22, 3, 1, 0, 50, 2, 0, 0, 46}, clienthello.ErrMalformed},
		{"empty message", record(message(nil)), clienthello.ErrMalformed},
		{"byte after", record(append(m, 0)), clienthello.ErrMalformed},
		{"second hello after", record(append(m, m...)), clienthello.ErrMalformed},
		{"byte after, in the second record", slices.Concat(record(m[:9]), record(append(m[9:], 0))), clienthello.ErrMalformed},
		{"length a byte short", record(message(m[4 : len(m)-1])), clienthello.ErrMalformed},
		{"message too long", []byte{22, 3, 1, 0, 4, 1, 1, 0, 0}, clienthello.ErrTooLong},
		{"a byte too long", records(padded(clienthello.Max-4*5+1), 1<<14), clienthello.ErrTooLong},
		{"too long by its headers", records(padded(11_000), 1), clienthello.ErrTooLong},
	} {
		t.Run(c.what, func(t *testing.T) {
			h, raw, err := clienthello.Read(bytes.NewReader(c.in))
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, not %v", err, c.want)
			}
			if !bytes.HasPrefix(c.in, raw) || len(raw) > clienthello.Max {
				t.Errorf("took %x", raw)
			}
			if d := cmp.Diff(clienthello.Hello{}, h); d != "" {
				t.Error(d)
			}
			_, _, slow := clienthello.Read(iotest.OneByteReader(bytes.NewReader(c.in)))
			if slow == nil || slow.Error() != err.Error() {
				t.Errorf("byte by byte: %v; at once: %v", slow, err)
			}
		})
	}
}

// quiet gives its bytes and then fails the test when it is asked for more: a
// client that waits for the server.
type quiet struct {
	t    *testing.T
	rest []byte
}

func (q *quiet) Read(p []byte) (int, error) {
	if len(q.rest) == 0 {
		q.t.Error("waited for more")
		return 0, io.EOF
	}
	n := copy(p, q.rest)
	q.rest = q.rest[n:]
	return n, nil
}

func TestReadDoesNotWait(t *testing.T) {
	for in, want := range map[string]error{
		"S":                                    clienthello.ErrNotTLS,
		"\x00":                                 clienthello.ErrNotTLS,
		"\x80\x2e\x01":                         clienthello.ErrSSLv2,
		"\xff\x00\x00":                         clienthello.ErrNotTLS,
		"\x16\x03\x01\x00\x00":                 clienthello.ErrMalformed,
		"\x16\x02\x01\x00\x01":                 clienthello.ErrMalformed,
		"\x16\x03\x01\x02\x00\x02\x00\x00\x00": clienthello.ErrMalformed,
		"\x16\x03\x01\x02\x00\x01\x00\x00\x09": clienthello.ErrMalformed,
		"\x16\x03\x01\x02\x00\x01\x01\x00\x00": clienthello.ErrTooLong,
	} {
		if _, _, err := clienthello.Read(&quiet{t, []byte(in)}); !errors.Is(err, want) {
			t.Errorf("%q: error %v, not %v", in, err, want)
		}
	}
}

func TestReadPassesErrorsOn(t *testing.T) {
	r := io.MultiReader(bytes.NewReader([]byte{22, 3, 1}), iotest.ErrReader(os.ErrDeadlineExceeded))
	if _, raw, err := clienthello.Read(r); !errors.Is(err, os.ErrDeadlineExceeded) || len(raw) != 3 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if _, _, err := clienthello.Read(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// A client that announces much and sends little costs little.
func TestReadBoundsMemory(t *testing.T) {
	in := records(padded(60_000), 1<<14)
	for _, n := range []int{0, 1, 5, 6, 100, 2000, 5000, 20_000, 50_000} {
		_, raw, err := clienthello.Read(bytes.NewReader(in[:n]))
		if !errors.Is(err, clienthello.ErrTruncated) || len(raw) != n {
			t.Fatalf("%d bytes: took %d, %v", n, len(raw), err)
		}
		if cap(raw) > 3<<10+2*n {
			t.Errorf("%d bytes take %d", n, cap(raw))
		}
	}
}

// stalled sends a header and then nothing.
type stalled struct {
	sent    bool
	waiting chan<- struct{}
	end     <-chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	if !s.sent {
		s.sent = true
		return copy(p, "\x16\x03\x01\x40\x00"), nil
	}
	s.waiting <- struct{}{}
	<-s.end
	return 0, io.EOF
}

func TestManyHalfOpen(t *testing.T) {
	const clients, bound = 10_000, 128 << 20
	waiting, end := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	before := inUse()
	for range clients {
		go func() {
			_, _, err := clienthello.Read(&stalled{false, waiting, end})
			done <- err
		}()
	}
	for range clients {
		<-waiting
	}
	used := inUse() - before
	close(end)
	for range clients {
		if err := <-done; !errors.Is(err, clienthello.ErrTruncated) {
			t.Error(err)
		}
	}
	t.Logf("%d clients: %d KiB", clients, used>>10)
	if used > bound {
		t.Errorf("%d clients cost %d bytes", clients, used)
	}
}

// inUse is what heap and stacks hold.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func BenchmarkRead(b *testing.B) {
	in := record(message(browser("a.test")))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := clienthello.Read(bytes.NewReader(in)); err != nil {
			b.Fatal(err)
		}
	}
}
