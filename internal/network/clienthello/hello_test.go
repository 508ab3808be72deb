package clienthello_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/network/clienthello"
)

func TestParse(t *testing.T) {
	old := good()
	old.version, old.session = []byte{3, 1}, 0
	deflate := good()
	deflate.methods = vec8([]byte{1, 0})
	long := strings.Repeat("a", 255)
	for _, c := range []struct {
		what string
		body []byte
		want clienthello.Hello
	}{
		{"no extensions at all", old.bytes(), clienthello.Hello{Version: 0x0301}},
		{"an empty list of them", body(), clienthello.Hello{Version: 0x0303}},
		{"a name", body(sni("a.test")), clienthello.Hello{ServerName: "a.test", Version: 0x0303}},
		{"the name as sent", body(sni("A.Test")), clienthello.Hello{ServerName: "A.Test", Version: 0x0303}},
		{"a name that is none", body(sni("127.0.0.1:443/~")), clienthello.Hello{ServerName: "127.0.0.1:443/~", Version: 0x0303}},
		{"a long name", body(sni(long)), clienthello.Hello{ServerName: long, Version: 0x0303}},
		{"two compression methods", append(deflate.bytes(), vec16(sni("a.test"))...), clienthello.Hello{ServerName: "a.test", Version: 0x0303}},
		{"protocols", body(alpn("h2", "\x0a\x0a")), clienthello.Hello{ALPN: []string{"h2", "\x0a\x0a"}, Version: 0x0303}},
		{"versions", body(ext(43, vec8([]byte{0x1a, 0x1a, 3, 3, 3, 4, 0x7f, 28, 3, 9}))), clienthello.Hello{Version: 0x0304}},
		{"only unknown versions", body(ext(43, vec8([]byte{0x1a, 0x1a}))), clienthello.Hello{}},
		{"early data", body(ext(42)), clienthello.Hello{EarlyData: true, Version: 0x0303}},
		{"ECH", body(sni("front.test"), ext(0xfe0d, []byte{0})), clienthello.Hello{ServerName: "front.test", ECH: true, Version: 0x0303}},
		{"a draft of ECH", body(ext(0xfe0a, []byte{0})), clienthello.Hello{ECH: true, Version: 0x0303}},
		{"ESNI", body(ext(0xffce, []byte{0})), clienthello.Hello{ECH: true, Version: 0x0303}},
		{"as browsers do", browser("a.test"), clienthello.Hello{ServerName: "a.test", ALPN: []string{"h2", "http/1.1"}, ECH: true, Version: 0x0304}},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := clienthello.Parse(c.body)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// with is a good hello in which one field was changed.
func with(change func(*fields)) []byte {
	f := good()
	change(&f)
	return append(f.bytes(), vec16(sni("a.test"))...)
}

func TestParseRefuses(t *testing.T) {
	var many [][]byte
	for i := range 101 {
		many = append(many, ext(uint16(1000+i)))
	}
	whole := body(sni("a.test"))
	for what, b := range map[string][]byte{
		"nothing":             {},
		"version 2":           with(func(f *fields) { f.version = []byte{2, 0} }),
		"DTLS":                with(func(f *fields) { f.version = []byte{0xfe, 0xff} }),
		"long session id":     with(func(f *fields) { f.session = 33 }),
		"no suites":           with(func(f *fields) { f.suites = vec16() }),
		"odd suites":          with(func(f *fields) { f.suites = vec16([]byte{1, 2, 3}) }),
		"no methods":          with(func(f *fields) { f.methods = vec8() }),
		"no null method":      with(func(f *fields) { f.methods = vec8([]byte{1}) }),
		"a byte too many":     append(body(sni("a.test")), 0),
		"a byte too few":      whole[:len(whole)-1],
		"half a list length":  append(good().bytes(), 0),
		"half an extension":   body(sni("a.test"), []byte{0, 1}),
		"extension too long":  body([]byte{0, 1, 0, 9, 1}),
		"the name twice":      body(sni("a.test"), sni("a.test")),
		"two names apart":     body(sni("a.test"), ext(9), sni("b.test")),
		"GREASE twice":        body(ext(0x1a1a), ext(0x1a1a)),
		"ECH twice":           body(ext(0xfe0d), ext(0xfe0d)),
		"too many extensions": body(many...),
		"two names":           body(ext(0, vec16(name(0, "a.test"), name(0, "b.test")))),
		"another type":        body(ext(0, vec16(name(1, "a.test")))),
		"another type after":  body(ext(0, vec16(name(0, "a.test"), name(1, "b.test")))),
		"another type before": body(ext(0, vec16(name(1, "b.test"), name(0, "a.test")))),
		"empty name":          body(sni("")),
		"empty name list":     body(ext(0, vec16())),
		"empty SNI":           body(ext(0)),
		"byte after SNI":      body(ext(0, vec16(name(0, "a.test")), []byte{0})),
		"byte after the name": body(ext(0, vec16(name(0, "a.test"), []byte{0}))),
		"short name":          body(ext(0, vec16([]byte{0, 0, 9, 'a'}))),
		"name too long":       body(sni(strings.Repeat("a", 256))),
		"NUL":                 body(sni("evil.test\x00.a.test")),
		"NUL at the end":      body(sni("a.test\x00")),
		"dot at the end":      body(sni("a.test.")),
		"a dot alone":         body(sni(".")),
		"space":               body(sni("a.test ")),
		"line feed":           body(sni("a.test\n")),
		"DEL":                 body(sni("a\x7f.test")),
		"not ASCII":           body(sni("a\u3002test")),
		"empty ALPN":          body(ext(16)),
		"no protocol":         body(ext(16, vec16())),
		"empty protocol":      body(alpn("h2", "")),
		"short protocol":      body(ext(16, vec16([]byte{3, 'h', '2'}))),
		"byte after ALPN":     body(ext(16, vec16(vec8([]byte("h2"))), []byte{0})),
		"many protocols":      body(alpn(strings.Split(strings.Repeat("x", 33), "")...)),
		"empty versions":      body(ext(43, vec8())),
		"odd versions":        body(ext(43, vec8([]byte{3, 4, 3}))),
		"byte after versions": body(ext(43, vec8([]byte{3, 4}), []byte{0})),
		"early data with any": body(ext(42, []byte{0})),
	} {
		t.Run(what, func(t *testing.T) {
			h, err := clienthello.Parse(b)
			if !errors.Is(err, clienthello.ErrMalformed) {
				t.Errorf("error %v", err)
			}
			if d := cmp.Diff(clienthello.Hello{}, h); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := clienthello.Parse(make([]byte, clienthello.Max+1)); !errors.Is(err, clienthello.ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
}

// No cut of a good hello is one.
func TestParseCut(t *testing.T) {
	whole := browser("a.test")
	bare := 0 // one cut leaves a hello of the time before extensions
	for n := range whole {
		if _, err := clienthello.Parse(whole[:n]); err == nil {
			bare++
		} else if !errors.Is(err, clienthello.ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if bare != 1 {
		t.Errorf("%d cuts were taken", bare)
	}
}
