package h2c_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"ringfence.dev/ringfence/internal/network/h2c"
)

// witness is an origin that knows at each write how many requests were allowed.
type witness struct {
	t       *testing.T
	out     bytes.Buffer
	allowed [][4]string
}

func (w *witness) judge(method, scheme, authority, path string) error {
	if strings.Contains(authority, "denied") {
		return errDenied
	}
	w.allowed = append(w.allowed, [4]string{method, scheme, authority, path})
	return nil
}

func (w *witness) Write(p []byte) (int, error) {
	w.out.Write(p)
	if n := begun(w.out.Bytes()); n > len(w.allowed) {
		w.t.Fatalf("%d requests have begun, %d were allowed", n, len(w.allowed))
	}
	return len(p), nil
}

// begun counts the requests of which any byte of their HEADERS frame is in out.
func begun(out []byte) (n int) {
	if len(out) < len(preface) {
		return 0
	}
	last := uint32(0)
	for out = out[len(preface):]; len(out) >= 9; {
		if id := binary.BigEndian.Uint32(out[5:]); out[3] == headers && id > last {
			last = id
			n++
		}
		length := int(out[0])<<16 | int(out[1])<<8 | int(out[2])
		out = out[min(len(out), 9+length):]
	}
	return n
}

// FuzzCopy: what passes is a prefix of what came; the judge has seen each request of
// it before; and a decoder of another make, whatever the size of its table, finds
// those requests in it and no others.
func FuzzCopy(f *testing.F) {
	e := newEncoder()
	three := frame(headers, endHeaders|endStream, 1, e.block(get("allowed.test", "x: y")...)) +
		frame(headers, endHeaders, 3, e.block(get("allowed.test", "x: y", "content-length: 2")...)) + frame(data, endStream, 3, "ab") +
		frame(headers, endHeaders|endStream, 5, e.block(get("denied.test")...))
	ok := block(get("allowed.test")...)
	for _, s := range []string{
		three,
		frame(headers, 0, 1, ok[:2]) + frame(continuation, endHeaders, 1, ok[2:]) + frame(headers, endHeaders|endStream, 1, block("a: b")),
		frame(headers, endHeaders|padded|weighed, 1, "\x01\x00\x00\x00\x00\x00"+ok+"\x00") + frame(data, padded|endStream, 1, "\x02x\x00\x00"),
		frame(headers, endHeaders|endStream, 1, "\x3f\xe1\xff\x03"+ok) + frame(headers, endHeaders|endStream, 3, "\x20"+ok+"\xbe"),
		frame(headers, endHeaders|endStream, 1, "\x3f\x45"+ok+"\x40\x01a\x28"+strings.Repeat("b", 40)+"\xbe\xbf\xc0"),
		frame(settings, ack, 0, "") + frame(ping, 0, 0, "12345678") + frame(window, 0, 0, "1234") + frame(goAway, 0, 0, "12345678") + frame(priority, 0, 3, "12345"),
		frame(push, endHeaders, 1, ok) + frame(0x77, 0, 1, "x"),
	} {
		f.Add([]byte(s), true)
	}
	f.Add([]byte(hello+three), false)
	f.Fuzz(func(t *testing.T, raw []byte, greeted bool) {
		in := raw
		if greeted {
			in = append([]byte(hello), raw...)
		}
		w := &witness{t: t}
		n, err := h2c.Copy(w, bytes.NewReader(in), w.judge)
		out := w.out.Bytes()
		if n != int64(len(out)) || !bytes.HasPrefix(in, out) {
			t.Fatalf("%d bytes, %q is not the beginning of %q", n, out, in)
		}
		if err == nil && len(out) != len(in) {
			t.Fatalf("%d bytes of %d passed without a word", len(out), len(in))
		}
		if err != nil && err != io.ErrUnexpectedEOF && !errors.Is(err, h2c.ErrMalformed) && !errors.Is(err, errDenied) {
			t.Fatal(err)
		}
		slow := &witness{t: t}
		_, errSlow := h2c.Copy(slow, iotest.OneByteReader(bytes.NewReader(in)), slow.judge)
		if !slices.Equal(slow.allowed, w.allowed) || (err == nil) != (errSlow == nil) {
			t.Fatalf("%v, %q in one piece, %v, %q in many", err, w.allowed, errSlow, slow.allowed)
		}
		for _, size := range []uint32{0, 64, 128, 4096, 64 << 10, 1 << 20} {
			seen, err := decode(out, size)
			if err == nil && len(seen) != len(w.allowed) || len(seen) > len(w.allowed) || !slices.Equal(seen, w.allowed[:len(seen)]) {
				t.Fatalf("with a table of %d the origin sees %q, allowed are %q", size, seen, w.allowed)
			}
			if size == 4096 && err == http2.ConnectionError(http2.ErrCodeCompression) {
				t.Fatalf("the origin cannot decode %q", out)
			}
		}
	})
}

// decode reads out as an origin whose table has this size, until something is wrong.
func decode(out []byte, table uint32) (seen [][4]string, err error) {
	if len(out) < len(preface) {
		return nil, nil
	}
	fr := http2.NewFramer(io.Discard, bytes.NewReader(out[len(preface):]))
	fr.ReadMetaHeaders = hpack.NewDecoder(table, nil)
	if table == 4096 { // the size that both sides begin with, and may raise
		fr.ReadMetaHeaders.SetAllowedMaxDynamicTableSize(64 << 10)
	}
	for {
		f, err := fr.ReadFrame()
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
		m, ok := f.(*http2.MetaHeadersFrame)
		if !ok || len(m.PseudoFields()) == 0 {
			continue
		}
		authority := m.PseudoValue("authority")
		if authority == "" {
			for _, h := range m.RegularFields() {
				if h.Name == "host" {
					authority = h.Value
				}
			}
		}
		seen = append(seen, [4]string{m.PseudoValue("method"), m.PseudoValue("scheme"), authority, m.PseudoValue("path")})
	}
}
