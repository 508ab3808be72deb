package gate

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

	"ringfence.dev/ringfence/internal/address"
)

// client has said all at once and keeps what it is told.
type client struct {
	io.Reader
	told bytes.Buffer
}

func (c *client) Write(p []byte) (int, error) { return c.told.Write(p) }

var noLogin = []byte{5, 1, 0}

const chosen = "\x05\x00"

// toldCode is what the client is told in all when it is refused with code.
func toldCode(code byte) string {
	return chosen + string([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
}

func socksRequest(cmd, kind byte, address string, port uint16) []byte {
	return binary.BigEndian.AppendUint16(append([]byte{5, cmd, 0, kind}, address...), port)
}

func toName(name string) []byte { return socksRequest(1, 3, string([]byte{byte(len(name))})+name, 443) }

func TestReadTarget(t *testing.T) {
	long := strings.Repeat("a", 255)
	for what, c := range map[string]struct {
		greeting, request []byte
		want              socksTarget
	}{
		"a name":            {noLogin, toName("a.test"), socksTarget{name: "a.test", port: 443}},
		"as sent":           {noLogin, toName("A-1.Test."), socksTarget{name: "A-1.Test.", port: 443}},
		"digits in front":   {noLogin, toName("127.0.0.1.test"), socksTarget{name: "127.0.0.1.test", port: 443}},
		"nearly hex":        {noLogin, toName("0x7g"), socksTarget{name: "0x7g", port: 443}},
		"not hex without x": {noLogin, toName("beef"), socksTarget{name: "beef", port: 443}},
		"as long as can be": {noLogin, toName(long), socksTarget{name: long, port: 443}},
		"one letter":        {noLogin, socksRequest(1, 3, "\x01a", 65535), socksTarget{name: "a", port: 65535}},
		"IPv4":              {noLogin, socksRequest(1, 1, "\xcb\x00\x71\x0a", 80), socksTarget{addr: netip.MustParseAddr("203.0.113.10"), port: 80}},
		"IPv6":              {noLogin, socksRequest(1, 4, " \x01\x0d\xb8"+strings.Repeat("\x00", 11)+"\x01", 1), socksTarget{addr: netip.MustParseAddr("2001:db8::1"), port: 1}},
		"v4-mapped stays":   {noLogin, socksRequest(1, 4, strings.Repeat("\x00", 10)+"\xff\xff\x7f\x00\x00\x01", 1), socksTarget{addr: netip.MustParseAddr("::ffff:127.0.0.1"), port: 1}},
		"as verify asks":    {noLogin, []byte("\x05\x01\x00\x03\x0ea.example.test\x1b\xa5"), socksTarget{name: "a.example.test", port: 7077}},
		"methods":           {[]byte{5, 3, 2, 1, 0}, toName("a.test"), socksTarget{name: "a.test", port: 443}},
		"many methods":      {append([]byte{5, 255}, make([]byte, 255)...), toName("a.test"), socksTarget{name: "a.test", port: 443}},
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
				got, err := socks{conn}.target()
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
	after := func(b []byte) []byte { return slices.Concat(noLogin, b) }
	cases := map[string]struct {
		in   []byte
		told string
	}{
		"SOCKS4":            {[]byte("\x04\x01\x01\xbb\x00\x00\x00\x01\x00a.test\x00"), ""},
		"HTTP":              {[]byte("CONNECT a.test:443 HTTP/1.1\r\n\r\n"), ""},
		"no methods":        {[]byte{5, 0}, "\x05\xff"},
		"passwords only":    {[]byte{5, 2, 1, 2}, "\x05\xff"},
		"version 4 request": {after([]byte{4, 1, 0, 1, 1, 2, 3, 4, 0, 80}), toldCode(1)},
		"reserved":          {after([]byte{5, 1, 1, 1, 1, 2, 3, 4, 0, 80}), toldCode(1)},
		"BIND":              {after(socksRequest(2, 1, "\x01\x02\x03\x04", 80)), toldCode(7)},
		"UDP ASSOCIATE":     {after(socksRequest(3, 3, "\x06a.test", 53)), toldCode(7)},
		"Tor's RESOLVE":     {after(socksRequest(0xf0, 3, "\x06a.test", 0)), toldCode(7)},
		"command 0":         {after(socksRequest(0, 4, strings.Repeat("\x00", 16), 80)), toldCode(7)},
		"BIND, bad type":    {after([]byte{5, 2, 0, 0x7f}), toldCode(7)},
		"type 0":            {after([]byte{5, 1, 0, 0}), toldCode(8)},
		"type 2":            {after([]byte{5, 1, 0, 2}), toldCode(8)},
		"type 7f":           {after([]byte{5, 1, 0, 0x7f}), toldCode(8)},
		"port 0":            {after(socksRequest(1, 3, "\x06a.test", 0)), toldCode(2)},
		"IPv4 port 0":       {after(socksRequest(1, 1, "\x01\x02\x03\x04", 0)), toldCode(2)},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			conn := &client{Reader: bytes.NewReader(c.in)}
			got, err := socks{conn}.target()
			if !errors.Is(err, errSOCKS) || got != (socksTarget{}) {
				t.Errorf("%+v, %v", got, err)
			}
			if conn.told.String() != c.told {
				t.Errorf("was told %x, not %x", &conn.told, c.told)
			}
			// A request whose end is known is read to it.
			if left, _ := io.ReadAll(conn); len(left) > 0 && c.told != "" && c.told != toldCode(1) {
				t.Errorf("left %x", left)
			}
		})
	}
}

// TestNamesThatNobodyHas: SOCKS carries any bytes as a name. Those that a resolver could
// read as something else are refused by the grammar of names, as everywhere.
func TestNamesThatNobodyHas(t *testing.T) {
	for _, name := range []string{
		"",
		"evil.test\x00.wild.test", "a.test\x00", "\x00", "a test", "a.test\n", "a_b.test", "*.test", "a.test:80", "u@a.test",
		"a\u3002test", "\xff", "a%2etest", "a/b", "@", "[", "`", "{", "/", ":",
		"127.0.0.1", "::1", "[::1]", "2130706433", "0x7f000001", "0X7F000001", "127.1", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "127.1..",
		"0x", "0x.0x", "1.2.3.4.5", "a.0", "a.0xff", "08", "fe80::1%lo", "::ffff:127.0.0.1",
	} {
		got, err := socks{&client{Reader: bytes.NewReader(slices.Concat(noLogin, toName(name)))}}.target()
		if err != nil || got.name != name || got.addr.IsValid() {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
		if n, err := address.ParseName(got.name); err == nil {
			t.Errorf("%q is the name %s", name, n)
		}
	}
}

// Whoever hangs up in the middle is told nothing more, and has no target.
func TestReadTargetCut(t *testing.T) {
	for _, whole := range [][]byte{
		slices.Concat(noLogin, toName("a.test")),
		slices.Concat(noLogin, socksRequest(1, 1, "\x01\x02\x03\x04", 80)),
		slices.Concat(noLogin, socksRequest(2, 4, strings.Repeat("\x01", 16), 80)),
		slices.Concat(noLogin, []byte{5, 1, 0, 3, 255, 'a'}),
	} {
		for n := range whole {
			conn := &client{Reader: bytes.NewReader(whole[:n])}
			got, err := socks{conn}.target()
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			if !errors.Is(err, want) || errors.Is(err, errSOCKS) || got != (socksTarget{}) {
				t.Errorf("%x: %+v, %v", whole[:n], got, err)
			}
			if told := conn.told.String(); told != "" && told != chosen || n < len(noLogin) && told != "" {
				t.Errorf("%x: was told %x", whole[:n], told)
			}
		}
	}
}

func TestReadTargetDeafClient(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		far.Write(noLogin)
		far.Close()
	}()
	_, err := socks{near}.target()
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
}

func TestReplies(t *testing.T) {
	for _, code := range []socksCode{socksSuccess, socksFailure, socksNotAllowed, socksNoCommand, socksNoAddress} {
		var b bytes.Buffer
		if err := (socks{&b}).reply(code); err != nil || chosen+b.String() != toldCode(byte(code)) {
			t.Errorf("code %d: %x, %v", code, &b, err)
		}
	}
	near, far := net.Pipe()
	far.Close()
	if (socks{near}).reply(socksSuccess) == nil {
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
	return len(told) == 12 && told[3] >= 1 && told[3] <= 8 && told == toldCode(told[3])
}

// encode is the request for t.
func encode(t socksTarget) []byte {
	switch {
	case !t.addr.IsValid():
		return socksRequest(1, 3, string([]byte{byte(len(t.name))})+t.name, t.port)
	case t.addr.Is4():
		return socksRequest(1, 1, string(t.addr.AsSlice()), t.port)
	}
	return socksRequest(1, 4, string(t.addr.AsSlice()), t.port)
}

func FuzzReadTarget(f *testing.F) {
	for _, r := range [][]byte{
		toName("a.test"), toName("127.1"), toName("evil.test\x00.a.test"), toName("0x7f000001"), toName(""),
		socksRequest(1, 1, "\x7f\x00\x00\x01", 22), socksRequest(1, 4, strings.Repeat("\x00", 15)+"\x01", 22),
		socksRequest(3, 1, "\x00\x00\x00\x00", 0), {5, 1, 1, 3}, {5, 1, 0, 0x7f},
	} {
		f.Add(slices.Concat(noLogin, r))
		f.Add(slices.Concat([]byte{5, 2, 2, 0}, r, []byte("tunnel")))
	}
	f.Add([]byte("\x04\x01\x01\xbb\x00\x00\x00\x01\x00a.test\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		conn := &client{Reader: r}
		got, err := socks{conn}.target()
		taken := len(in) - r.Len()
		if taken > length(in) {
			t.Fatalf("took %d bytes of a handshake of %d", taken, length(in))
		}
		told := conn.told.String()
		if !wellFormed(told) {
			t.Fatalf("was told %x", told)
		}
		slow := &client{Reader: iotest.OneByteReader(bytes.NewReader(in))}
		again, slowErr := socks{slow}.target()
		if again != got || slow.told.String() != told || (err == nil) != (slowErr == nil) {
			t.Fatalf("at once %+v, %v; byte by byte %+v, %v", got, err, again, slowErr)
		}
		if err != nil {
			if got != (socksTarget{}) {
				t.Fatalf("%+v with %v", got, err)
			}
			return
		}
		if told != chosen || got.port == 0 {
			t.Errorf("%+v, was told %x", got, told)
		}
		if want := slices.Concat(in[:2+int(in[1])], encode(got)); !bytes.Equal(in[:taken], want) {
			t.Errorf("%x was read as %x", in[:taken], want)
		}
	})
}
