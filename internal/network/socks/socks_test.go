package socks_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ringfence.dev/ringfence/internal/network/socks"
)

// client has said all at once and keeps what it is told.
type client struct {
	io.Reader
	told bytes.Buffer
}

func (c *client) Write(p []byte) (int, error) { return c.told.Write(p) }

var greeting = []byte{5, 1, 0}

const chosen = "\x05\x00"

// refused is what the client is told in all when it is refused with code.
func refused(code byte) string {
	return chosen + string([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
}

func request(cmd, kind byte, address string, port uint16) []byte {
	return binary.BigEndian.AppendUint16(append([]byte{5, cmd, 0, kind}, address...), port)
}

func domain(name string) []byte { return request(1, 3, string([]byte{byte(len(name))})+name, 443) }

func TestReadTarget(t *testing.T) {
	long := strings.Repeat("a", 255)
	for what, c := range map[string]struct {
		greeting, request []byte
		want              socks.Target
	}{
		"a name":            {greeting, domain("a.test"), socks.Target{Host: "a.test", Port: 443}},
		"as sent":           {greeting, domain("A-1.Test."), socks.Target{Host: "A-1.Test.", Port: 443}},
		"digits in front":   {greeting, domain("127.0.0.1.test"), socks.Target{Host: "127.0.0.1.test", Port: 443}},
		"nearly hex":        {greeting, domain("0x7g"), socks.Target{Host: "0x7g", Port: 443}},
		"not hex without x": {greeting, domain("beef"), socks.Target{Host: "beef", Port: 443}},
		"as long as can be": {greeting, domain(long), socks.Target{Host: long, Port: 443}},
		"one letter":        {greeting, request(1, 3, "\x01a", 65535), socks.Target{Host: "a", Port: 65535}},
		"IPv4":              {greeting, request(1, 1, "\xcb\x00\x71\x0a", 80), socks.Target{Host: "203.0.113.10", Port: 80, Literal: true}},
		"IPv6":              {greeting, request(1, 4, " \x01\x0d\xb8"+strings.Repeat("\x00", 11)+"\x01", 1), socks.Target{Host: "2001:db8::1", Port: 1, Literal: true}},
		"v4-mapped stays":   {greeting, request(1, 4, strings.Repeat("\x00", 10)+"\xff\xff\x7f\x00\x00\x01", 1), socks.Target{Host: "::ffff:127.0.0.1", Port: 1, Literal: true}},
		"methods":           {[]byte{5, 3, 2, 1, 0}, domain("a.test"), socks.Target{Host: "a.test", Port: 443}},
		"many methods":      {append([]byte{5, 255}, make([]byte, 255)...), domain("a.test"), socks.Target{Host: "a.test", Port: 443}},
	} {
		t.Run(what, func(t *testing.T) {
			const tail = "\x16\x03\x01 the tunnel"
			in := slices.Concat(c.greeting, c.request, []byte(tail))
			for _, slow := range []bool{false, true} {
				conn := &client{Reader: bytes.NewReader(in)}
				rest := conn.Reader
				if slow {
					conn.Reader = iotest.OneByteReader(conn.Reader)
				}
				got, err := socks.ReadTarget(conn)
				if err != nil || got != c.want {
					t.Errorf("%+v, %v", got, err)
				}
				if conn.told.String() != chosen {
					t.Errorf("was told %x", &conn.told)
				}
				if left, _ := io.ReadAll(rest); string(left) != tail {
					t.Errorf("left %q for the tunnel", left)
				}
			}
		})
	}
}

func TestReadTargetRefuses(t *testing.T) {
	after := func(b []byte) []byte { return slices.Concat(greeting, b) }
	cases := map[string]struct {
		in   []byte
		told string
	}{
		"SOCKS4":            {[]byte("\x04\x01\x01\xbb\x00\x00\x00\x01\x00a.test\x00"), ""},
		"HTTP":              {[]byte("CONNECT a.test:443 HTTP/1.1\r\n\r\n"), ""},
		"no methods":        {[]byte{5, 0}, "\x05\xff"},
		"passwords only":    {[]byte{5, 2, 1, 2}, "\x05\xff"},
		"version 4 request": {after([]byte{4, 1, 0, 1, 1, 2, 3, 4, 0, 80}), refused(1)},
		"reserved":          {after([]byte{5, 1, 1, 1, 1, 2, 3, 4, 0, 80}), refused(1)},
		"BIND":              {after(request(2, 1, "\x01\x02\x03\x04", 80)), refused(7)},
		"UDP ASSOCIATE":     {after(request(3, 3, "\x06a.test", 53)), refused(7)},
		"Tor's RESOLVE":     {after(request(0xf0, 3, "\x06a.test", 0)), refused(7)},
		"command 0":         {after(request(0, 4, strings.Repeat("\x00", 16), 80)), refused(7)},
		"BIND, bad type":    {after([]byte{5, 2, 0, 0x7f}), refused(7)},
		"type 0":            {after([]byte{5, 1, 0, 0}), refused(8)},
		"type 2":            {after([]byte{5, 1, 0, 2}), refused(8)},
		"type 7f":           {after([]byte{5, 1, 0, 0x7f}), refused(8)},
		"empty name":        {after(domain("")), refused(1)},
		"port 0":            {after(request(1, 3, "\x06a.test", 0)), refused(2)},
		"IPv4 port 0":       {after(request(1, 1, "\x01\x02\x03\x04", 0)), refused(2)},
	}
	for _, name := range []string{
		"evil.test\x00.wild.test", "a.test\x00", "\x00", "a test", "a.test\n", "a_b.test", "*.test", "a.test:80", "u@a.test",
		"a\u3002test", "\xff", "a%2etest", "a/b", "@", "[", "`", "{", "/", ":",
		"127.0.0.1", "::1", "[::1]", "2130706433", "0x7f000001", "0X7F000001", "127.1", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "127.1..",
		"0x", "0x.0x", "1.2.3.4.5", "a.0", "a.0xff", "08", "fe80::1%lo", "::ffff:127.0.0.1",
	} {
		cases["name "+name] = struct {
			in   []byte
			told string
		}{after(domain(name)), refused(2)}
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			conn := &client{Reader: bytes.NewReader(c.in)}
			got, err := socks.ReadTarget(conn)
			if !errors.Is(err, socks.ErrRequest) || got != (socks.Target{}) {
				t.Errorf("%+v, %v", got, err)
			}
			if conn.told.String() != c.told {
				t.Errorf("was told %x, not %x", &conn.told, c.told)
			}
			// A request whose end is known is read to it.
			if left, _ := io.ReadAll(conn); len(left) > 0 && c.told != "" && c.told != refused(1) {
				t.Errorf("left %x", left)
			}
		})
	}
}

// Whoever hangs up in the middle is told nothing more, and has no target.
func TestReadTargetCut(t *testing.T) {
	for _, whole := range [][]byte{
		slices.Concat(greeting, domain("a.test")),
		slices.Concat(greeting, request(1, 1, "\x01\x02\x03\x04", 80)),
		slices.Concat(greeting, request(2, 4, strings.Repeat("\x01", 16), 80)),
		slices.Concat(greeting, []byte{5, 1, 0, 3, 255, 'a'}),
	} {
		for n := range whole {
			conn := &client{Reader: bytes.NewReader(whole[:n])}
			got, err := socks.ReadTarget(conn)
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			if !errors.Is(err, want) || errors.Is(err, socks.ErrRequest) || got != (socks.Target{}) {
				t.Errorf("%x: %+v, %v", whole[:n], got, err)
			}
			if told := conn.told.String(); told != "" && told != chosen || n < len(greeting) && told != "" {
				t.Errorf("%x: was told %x", whole[:n], told)
			}
		}
	}
}

func TestReadTargetDeafClient(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		far.Write(greeting)
		far.Close()
	}()
	if _, err := socks.ReadTarget(near); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

func TestReplies(t *testing.T) {
	for code, want := range map[socks.Code]byte{
		0: 1, socks.Failure: 1, socks.NotAllowed: 2, socks.NetworkUnreachable: 3, socks.HostUnreachable: 4,
		socks.ConnectionRefused: 5, socks.TTLExpired: 6, socks.CommandNotSupported: 7, socks.AddressNotSupported: 8,
	} {
		var b bytes.Buffer
		if err := socks.Refuse(&b, code); err != nil || chosen+b.String() != refused(want) {
			t.Errorf("code %d: %x, %v", code, &b, err)
		}
	}
	var b bytes.Buffer
	if err := socks.Succeed(&b); err != nil || chosen+b.String() != refused(0) {
		t.Errorf("success: %x, %v", &b, err)
	}
	near, far := net.Pipe()
	far.Close()
	if socks.Succeed(near) == nil || socks.Refuse(near, socks.NotAllowed) == nil {
		t.Error("a failed write is no error")
	}
}

// length is how long the handshake at the beginning of in can be, by the lengths
// it has in it, however wrong the rest.
func length(in []byte) int {
	if len(in) < 2 || in[0] != 5 {
		return 2
	}
	n := 2 + int(in[1])
	if len(in) < n+4 {
		return n + 4
	}
	switch in[n+3] {
	case 1:
		return n + 4 + 4 + 2
	case 4:
		return n + 4 + 16 + 2
	case 3:
		if len(in) > n+4 {
			return n + 4 + 1 + int(in[n+4]) + 2
		}
		return n + 4 + 1
	}
	return n + 4
}

func wellFormed(told string) bool {
	if told == "" || told == "\x05\xff" || told == chosen {
		return true
	}
	return len(told) == 12 && told[3] >= 1 && told[3] <= 8 && told == refused(told[3])
}

// encode is the request for t.
func encode(t socks.Target) []byte {
	if !t.Literal {
		return request(1, 3, string([]byte{byte(len(t.Host))})+t.Host, t.Port)
	}
	addr := netip.MustParseAddr(t.Host)
	if addr.Is4() {
		return request(1, 1, string(addr.AsSlice()), t.Port)
	}
	return request(1, 4, string(addr.AsSlice()), t.Port)
}

func FuzzReadTarget(f *testing.F) {
	for _, r := range [][]byte{
		domain("a.test"), domain("127.1"), domain("evil.test\x00.a.test"), domain("0x7f000001"), domain(""),
		request(1, 1, "\x7f\x00\x00\x01", 22), request(1, 4, strings.Repeat("\x00", 15)+"\x01", 22),
		request(3, 1, "\x00\x00\x00\x00", 0), {5, 1, 1, 3}, {5, 1, 0, 0x7f},
	} {
		f.Add(slices.Concat(greeting, r))
		f.Add(slices.Concat([]byte{5, 2, 2, 0}, r, []byte("tunnel")))
	}
	f.Add([]byte("\x04\x01\x01\xbb\x00\x00\x00\x01\x00a.test\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		conn := &client{Reader: r}
		got, err := socks.ReadTarget(conn)
		taken := len(in) - r.Len()
		if taken > length(in) {
			t.Fatalf("took %d bytes of a handshake of %d", taken, length(in))
		}
		told := conn.told.String()
		if !wellFormed(told) {
			t.Fatalf("was told %x", told)
		}
		slow := &client{Reader: iotest.OneByteReader(bytes.NewReader(in))}
		if again, slowErr := socks.ReadTarget(slow); again != got || slow.told.String() != told || (err == nil) != (slowErr == nil) {
			t.Fatalf("at once %+v, %v; byte by byte %+v, %v", got, err, again, slowErr)
		}
		if err != nil {
			if got != (socks.Target{}) {
				t.Fatalf("%+v with %v", got, err)
			}
			return
		}
		if told != chosen || got.Port == 0 {
			t.Errorf("%+v, was told %x", got, told)
		}
		if want := slices.Concat(in[:2+int(in[1])], encode(got)); !bytes.Equal(in[:taken], want) {
			t.Errorf("%x was read as %x", in[:taken], want)
		}
		if !got.Literal {
			checkName(t, got.Host)
		}
	})
}

func checkName(t *testing.T, name string) {
	t.Helper()
	const ldh = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
	if name == "" || strings.Trim(name, ldh) != "" || strings.ContainsAny(name, "\x00:[]%") {
		t.Errorf("name %q", name)
	}
	if _, err := netip.ParseAddr(strings.TrimRight(name, ".")); err == nil {
		t.Errorf("name %q is an address", name)
	}
}
