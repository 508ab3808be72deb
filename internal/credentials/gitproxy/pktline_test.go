package gitproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// spell writes packets down as text that a table can hold.
func spell(r io.Reader) (string, error) {
	var out strings.Builder
	for pr := newPacketReader(r); ; {
		kind, p, err := pr.Next()
		if err != nil {
			return out.String(), err
		}
		if kind == packetData {
			fmt.Fprintf(&out, "%q ", p)
		} else {
			fmt.Fprintf(&out, "mark%d ", kind)
		}
	}
}

func TestReader(t *testing.T) {
	most := strings.Repeat("x", maxPacket)
	for what, c := range map[string]struct {
		in, want string
		err      error // in the chain; io.EOF: a clean end
	}{
		"nothing":          {"", "", io.EOF},
		"marks":            {"000000010002", "mark1 mark2 mark3 ", io.EOF},
		"a line":           {"0006a\n", `"a\n" `, io.EOF},
		"one byte":         {"0005a", `"a" `, io.EOF},
		"any bytes":        {"0008\x00\xff0\n", `"\x00\xff0\n" `, io.EOF},
		"as long as can":   {"fff0" + most, fmt.Sprintf("%q ", most), io.EOF},
		"one more":         {"fff1" + most + "x", "", errPacket},
		"longest number":   {"ffff" + most, "", errPacket},
		"three":            {"0003", "", errPacket},
		"empty packet":     {"0004", "", errPacket},
		"upper-case digit": {"000Aabcdef", "", errPacket},
		"sign":             {"+006ab", "", errPacket},
		"space":            {" 006ab", "", errPacket},
		"prefix":           {"0x06ab", "", errPacket},
		"a pack":           {"PACK", "", errPacket},
		"cut in length":    {"0006a\n00", `"a\n" `, io.ErrUnexpectedEOF},
		"cut before data":  {"0006", "", io.ErrUnexpectedEOF},
		"cut in data":      {"0006a", "", io.ErrUnexpectedEOF},
	} {
		t.Run(what, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got, err := spell(r)
				if got != c.want || !errors.Is(err, c.err) {
					t.Errorf("got %q and %v, want %q and %v", got, err, c.want, c.err)
				}
			}
		})
	}
}

func TestReaderTakesNoByteMore(t *testing.T) {
	in := strings.NewReader("0005a0000PACK")
	r := newPacketReader(in)
	for range 2 {
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if rest, _ := io.ReadAll(in); string(rest) != "PACK" {
		t.Errorf("left over: %q", rest)
	}
}

func TestAppend(t *testing.T) {
	var b []byte
	b = AppendPacket(b, "a\n")
	b = appendMark(b, packetDelim)
	b = appendBand(b, 2, []byte("hi"))
	b = appendMark(b, packetEnd)
	b = appendMark(b, packetFlush)
	if got, want := string(b), "0006a\n00010007\x02hi00020000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := bytes.Repeat([]byte("y"), 2*maxBand+1)
	r, got := newPacketReader(bytes.NewReader(appendBand(nil, 1, long))), 0
	for {
		_, p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || p[0] != 1 {
			t.Fatal(p[0], err)
		}
		got += len(p) - 1
	}
	if got != len(long) {
		t.Errorf("%d bytes went through the band, want %d", got, len(long))
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "a\n": "a", "a\n\n": "a\n", "\n": ""} {
		if got := string(packetText([]byte(in))); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzReader: what is read and written again is the same bytes, so each message
// has one spelling.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"", "0000", "000100020000", "0006a\n0000PACK", "0004", "0003", "fff0", "ffff", "000Aabcdef",
		"009a0000000000000000000000000000000000000000 1111111111111111111111111111111111111111 refs/heads/x\x00 report-status side-band-64k agent=git/2.39.5-abcdefgh\n0000"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		src := bytes.NewReader(in)
		r, again := newPacketReader(src), []byte(nil)
		for {
			kind, p, err := r.Next()
			if err == io.EOF {
				if !bytes.Equal(again, in) {
					t.Fatalf("read %q, written %q", in, again)
				}
				return
			}
			if err != nil {
				if !errors.Is(err, errPacket) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("error of no kind: %v", err)
				}
				if !bytes.HasPrefix(in, again) {
					t.Fatalf("read %q, written %q", in, again)
				}
				return
			}
			if kind == packetData {
				if len(p) == 0 || len(p) > maxPacket {
					t.Fatalf("payload of %d bytes", len(p))
				}
				again = AppendPacket(again, string(p))
			} else {
				again = appendMark(again, kind)
			}
			if len(again) != len(in)-src.Len() {
				t.Fatalf("took %d bytes for %d", len(in)-src.Len(), len(again))
			}
		}
	})
}
