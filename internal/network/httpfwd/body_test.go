package httpfwd_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

var chunked = &httpfwd.Head{Length: httpfwd.Chunked}

func TestChunked(t *testing.T) {
	const rest = "GET / HTTP/1.1\r\n"
	many := strings.Repeat("1\r\na\r\n", 5000)
	for _, row := range []struct {
		name, raw, want string
	}{
		{"empty", "0\r\n\r\n", "0\r\n\r\n"},
		{"one", "5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n"},
		{"size rewritten", "0005\r\nhello\r\n00A\r\n0123456789\r\n000\r\n\r\n", "5\r\nhello\r\na\r\n0123456789\r\n0\r\n\r\n"},
		{"extensions dropped", "1;a\r\nx\r\n1;a=\"b\" ; c\r\ny\r\n0;z\r\n\r\n", "1\r\nx\r\n1\r\ny\r\n0\r\n\r\n"},
		{"trailers", "1\r\nx\r\n0\r\nX-Sum:  abc \r\nX-B:\r\n\r\n", "1\r\nx\r\n0\r\nX-Sum: abc\r\nX-B: \r\n\r\n"},
		{"data like framing", "7\r\n0\r\n\r\n0\r\r\n0\r\n\r\n", "7\r\n0\r\n\r\n0\r\r\n0\r\n\r\n"},
		{"many", many + "0\r\n\r\n", many + "0\r\n\r\n"},
		{"16 digits", "0000000000000001\r\nx\r\n0\r\n\r\n", "1\r\nx\r\n0\r\n\r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, size := range []int{16, 4096} {
				var out bytes.Buffer
				r := bufio.NewReaderSize(strings.NewReader(row.raw+rest), size)
				n, err := httpfwd.CopyBody(&out, r, nil, chunked)
				if err != nil || out.String() != row.want || n != int64(out.Len()) {
					t.Fatalf("%d, %v, %.80q, want %.80q", n, err, out.String(), row.want)
				}
				if left, _ := io.ReadAll(r); string(left) != rest {
					t.Errorf("%q is left", left)
				}
			}
		})
	}
}

func TestChunkedRefuses(t *testing.T) {
	for _, raw := range []string{
		"\r\n", "-1\r\n", "+1\r\nx", "0x1\r\nx", " 1\r\nx", "1 \r\nx", "1\t;a\r\nx", "1_0\r\n", "g\r\n", ";a\r\n", "1\nx\r\n", "1\r\nx\n0\r\n\r\n", "1\r\nxy\r\n",
		"1\r\nx\r0\r\n\r\n", "1\r\nxAB0\r\n\r\n", "1\r\nxA\n0\r\n\r\n", "1\r\nx\r00\r\n\r\n", "1\rx\r\n", "1;\x00\r\nx", "1;a\nb\r\nx", "1;a\rb\r\nx", "00000000000000001\r\nx\r\n", "8000000000000000\r\n", "ffffffffffffffff\r\n",
		"4000000000000001\r\n", "1;" + strings.Repeat("a", 300) + "\r\nx", strings.Repeat("1;"+strings.Repeat("a", 200)+"\r\nx\r\n", 100),
		"0\r\nContent-Length: 5\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "0\r\nHost: x\r\n\r\n", "0\r\ntransfer_encoding: chunked\r\n\r\n",
		"0\r\nAuthorization: x\r\n\r\n", "0\r\nTrailer: x\r\n\r\n", "0\r\nConnection: x\r\n\r\n", "0\r\nX-Forwarded-Host: x\r\n\r\n", "0\r\nproxy-x: y\r\n\r\n",
		"0\r\nA : b\r\n\r\n", "0\r\nA: b\r\n c\r\n\r\n", "0\r\nA: b\n\r\n", "0\r\nA: b\r\n\n", "0\r\n\n", "0\r\nA\r\n\r\n", "0\r\nA: \x00\r\n\r\n",
		"0\r\n" + strings.Repeat("a: b\r\n", 33) + "\r\n", "0\r\na: " + strings.Repeat("b", 9<<10) + "\r\n\r\n",
		"0\r\n" + strings.Repeat("a: "+strings.Repeat("b", 400)+"\r\n", 30) + "\r\n",
	} {
		var out bytes.Buffer
		_, err := httpfwd.CopyBody(&out, bufio.NewReader(strings.NewReader(raw)), nil, chunked)
		var refused *httpfwd.Error
		if !errors.As(err, &refused) || refused.Status < 400 {
			t.Errorf("%.60q: %v", raw, err)
		}
		if strings.HasSuffix(out.String(), "0\r\n\r\n") {
			t.Errorf("%.60q: the origin saw an end: %q", raw, out.String())
		}
	}
}

func TestBodyCutShort(t *testing.T) {
	const raw = "5\r\nhello\r\n0\r\nA: b\r\n\r\n"
	for n := range len(raw) {
		if _, err := httpfwd.CopyBody(io.Discard, bufio.NewReader(strings.NewReader(raw[:n])), nil, chunked); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v", raw[:n], err)
		}
	}
	for n := range int64(10) {
		src := bufio.NewReader(strings.NewReader("hello"))
		got, err := httpfwd.CopyBody(io.Discard, src, nil, &httpfwd.Head{Length: n})
		if got != min(n, 5) || (err != nil) != (n > 5) || n > 5 && err != io.ErrUnexpectedEOF {
			t.Errorf("%d of 5: %d, %v", n, got, err)
		}
	}
}

// TestBodyToNobody: an origin that is gone ends the copy with its own error.
func TestBodyToNobody(t *testing.T) {
	gone := errors.New("gone")
	for _, raw := range []string{"5\r\nhello\r\n0\r\n\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0\r\n", "ffff\r\n" + strings.Repeat("x", 40<<10)} {
		for _, length := range []int64{httpfwd.Chunked, int64(len(raw))} {
			n, err := httpfwd.CopyBody(failing{gone}, bufio.NewReader(strings.NewReader(raw)), nil, &httpfwd.Head{Length: length})
			if err != gone || n != 0 {
				t.Errorf("%.20q as %d: %d, %v", raw, length, n, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestBodyOverTCP: bodies in bulk go from connection to connection, to the byte,
// and what follows them stays.
func TestBodyOverTCP(t *testing.T) {
	const size = 3 << 20
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for _, row := range []struct {
		name   string
		length int64
		body   string
	}{
		{"length", size, string(data)},
		{"chunked", httpfwd.Chunked, "300000\r\n" + string(data) + "\r\n4\r\nabcd\r\n0\r\n\r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			client, in := pair(t)
			out, origin := pair(t)
			go func() {
				io.WriteString(client, row.body+"NEXT")
				client.Close()
			}()
			seen := make(chan string)
			go func() {
				b, _ := io.ReadAll(origin)
				seen <- string(b)
			}()
			src := bufio.NewReader(in)
			src.Peek(10)
			n, err := httpfwd.CopyBody(out, src, in, &httpfwd.Head{Length: row.length})
			out.Close()
			if got := <-seen; err != nil || got != row.body || n != int64(len(row.body)) {
				t.Fatalf("%d of %d bytes arrived, n %d, %v", len(got), len(row.body), n, err)
			}
			if left, _ := io.ReadAll(src); string(left) != "NEXT" {
				t.Errorf("%.20q is left", left)
			}
		})
	}
}

// pair is a TCP connection over loopback.
func pair(t testing.TB) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close(); two.Close() })
	return one.(*net.TCPConn), two.(*net.TCPConn)
}

// TestChunksDoNotWait: what has come is passed on before more is waited for.
func TestChunksDoNotWait(t *testing.T) {
	client, in := pair(t)
	out, origin := pair(t)
	done := make(chan error)
	go func() {
		_, err := httpfwd.CopyBody(out, bufio.NewReader(in), in, chunked)
		done <- err
	}()
	for _, step := range []struct{ send, want string }{
		{"5\r\nhello", "5\r\nhello"}, {"\r", ""}, {"\n3", "\r\n"}, {"\r\nabc\r\n", "3\r\nabc\r\n"}, {"0", ""}, {"\r\nA: b", ""}, {"\r\n\r\n", "0\r\nA: b\r\n\r\n"},
	} {
		io.WriteString(client, step.send)
		got := make([]byte, len(step.want))
		if _, err := io.ReadFull(origin, got); err != nil || string(got) != step.want {
			t.Fatalf("after %q: %q, %v", step.send, got, err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
