package clienthello_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/network/clienthello"
)

// agree says how Go's server reads in otherwise than h. A server that refuses
// agrees with everything.
func agree(h clienthello.Hello, in []byte) string {
	info := overTLS(in)
	if info == nil {
		return ""
	}
	hidden := slices.ContainsFunc(info.Extensions, func(e uint16) bool { return e >= 0xfe08 && e <= 0xfe0d || e == 0xffce })
	return cmp.Diff(
		clienthello.Hello{ServerName: info.ServerName, ALPN: info.SupportedProtos, ECH: hidden, EarlyData: slices.Contains(info.Extensions, 42)},
		clienthello.Hello{ServerName: h.ServerName, ALPN: h.ALPN, ECH: h.ECH, EarlyData: h.EarlyData})
}

// kept fails if h is not what Hello promises.
func kept(t *testing.T, h clienthello.Hello) {
	t.Helper()
	if len(h.ServerName) > 255 || len(h.ALPN) > 32 || h.Version != 0 && (h.Version < 0x0300 || h.Version > 0x0304) {
		t.Errorf("out of bounds: %+v", h)
	}
	for _, b := range []byte(h.ServerName) {
		if b < '!' || b > '~' {
			t.Errorf("byte %#x in %q", b, h.ServerName)
		}
	}
}

// FuzzParse takes the input as a hello, and as parts of a good one: what is
// mutated at random seldom keeps all the lengths around it.
func FuzzParse(f *testing.F) {
	f.Add(browser("a.test"))
	f.Add(good().bytes())
	f.Add(slices.Concat(sni("a.test"), sni("b.test")))
	f.Add(slices.Concat(ext(43, vec8([]byte{0x1a, 0x1a, 3, 4})), ext(42), sni("a.test"), ext(0xfe0d, []byte{0})))
	f.Add(vec16(name(0, "a.test"), name(0, "b.test")))
	f.Add(name(0, "a.test"))
	f.Add(vec8([]byte("h2")))
	for client := range captured {
		f.Add(flight(f, client)[9:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > clienthello.Max-200 {
			return
		}
		parse(t, b)
		parse(t, body(b))
		for _, kind := range []uint16{0, 16, 43} {
			parse(t, body(ext(kind, b)))
		}
		parse(t, body(ext(0, vec16(b)), ext(16, vec16(b))))
		parse(t, body(ext(0, vec16([]byte{0}, vec16(b)))))
	})
}

func parse(t *testing.T, b []byte) {
	t.Helper()
	before := bytes.Clone(b)
	h, err := clienthello.Parse(b)
	if !bytes.Equal(b, before) {
		t.Fatal("the input was changed")
	}
	if err != nil {
		if !errors.Is(err, clienthello.ErrMalformed) || cmp.Diff(clienthello.Hello{}, h) != "" {
			t.Fatalf("%+v, %v", h, err)
		}
		return
	}
	kept(t, h)
	in := records(message(b), 1<<14)
	if d := agree(h, in); d != "" {
		t.Errorf("a server reads it otherwise: %s", d)
	}
	again, raw, err := clienthello.Read(bytes.NewReader(in))
	if err != nil || cmp.Diff(h, again) != "" || !bytes.Equal(raw, in) {
		t.Errorf("in records: %+v, %v; alone: %+v", again, err, h)
	}
}

// FuzzRead takes the input as the bytes of a client, and as a message in records
// of size bytes.
func FuzzRead(f *testing.F) {
	m := message(browser("a.test"))
	f.Add(record(m), uint16(1))
	f.Add(records(m, 100), uint16(0))
	f.Add(append(records(m[:90], 7), record(m[90:])...), uint16(0))
	f.Add(m, uint16(50))
	f.Add(message(body(sni("a.test"))), uint16(1))
	f.Add([]byte("SSH-2.0-x\r\n"), uint16(0))
	f.Add([]byte{0x80, 0x2e, 1, 3, 1}, uint16(0))
	for client := range captured {
		f.Add(flight(f, client), uint16(0))
	}
	f.Fuzz(func(t *testing.T, in []byte, size uint16) {
		read(t, in)
		if size > 0 && len(in) <= clienthello.Max {
			read(t, records(in, int(size)))
		}
	})
}

func read(t *testing.T, in []byte) {
	t.Helper()
	h, raw, err := clienthello.Read(bytes.NewReader(in))
	if !bytes.HasPrefix(in, raw) || len(raw) > clienthello.Max || cap(raw) > 3<<10+2*len(raw) {
		t.Fatalf("took %d of %d bytes, in room for %d", len(raw), len(in), cap(raw))
	}
	slowH, slowRaw, slowErr := clienthello.Read(iotest.OneByteReader(bytes.NewReader(in)))
	if cmp.Diff(h, slowH) != "" || (err == nil) != (slowErr == nil) {
		t.Fatalf("at once %+v, %v; byte by byte %+v, %v", h, err, slowH, slowErr)
	}
	if err != nil {
		if err.Error() != slowErr.Error() || !bytes.HasPrefix(raw, slowRaw) {
			t.Fatalf("at once %x, %v; byte by byte %x, %v", raw, err, slowRaw, slowErr)
		}
		return
	}
	if !bytes.Equal(raw, slowRaw) {
		t.Fatalf("at once %x; byte by byte %x", raw, slowRaw)
	}
	kept(t, h)
	if d := agree(h, raw); d != "" {
		t.Errorf("a server reads it otherwise: %s", d)
	}
}
