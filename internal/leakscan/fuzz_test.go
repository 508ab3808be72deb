package leakscan

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

// cut makes chunks of a stream, by the lengths in cuts and then all the rest.
func cut(stream, cuts []byte) (chunks [][]byte) {
	for _, n := range cuts {
		n := min(int(n), len(stream))
		chunks, stream = append(chunks, stream[:n]), stream[n:]
	}
	return append(chunks, stream)
}

// FuzzScan: whatever the stream and its chunks, a Scanner tells of a secret exactly if
// a long enough piece of a writing is there.
func FuzzScan(f *testing.F) {
	sets := [][]Named{
		{{"long", "Zk3/x9Q+b7Lw2mTn8RcVy5Hd"}},
		{{"other", "ghp_0a1B2c3D4e5F6g7H8i9J"}, {"short", "pa55w0rd"}, {"even", "aaaaaaaaaaaaaaaaaaaaaaaa"}},
	}
	f.Add([]byte("some noise before and after"), []byte{3, 1, 1, 40}, uint8(0), uint16(0), uint16(0), uint16(24), uint16(5))
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), []byte{1}, uint8(1), uint16(40), uint16(2), uint16(16), uint16(9))
	f.Add([]byte(""), []byte{}, uint8(0), uint16(9), uint16(1), uint16(15), uint16(0))
	f.Fuzz(func(t *testing.T, noise, cuts []byte, which uint8, pick, from, length, at uint16) {
		if len(noise) > 1<<12 {
			return
		}
		secrets := sets[int(which)%len(sets)]
		all := spellings(secrets, false)
		text := all[int(pick)%len(all)].text
		text = text[int(from)%len(text):]
		stream := slices.Insert(slices.Clone(noise), int(at)%(len(noise)+1), []byte(text[:int(length)%(len(text)+1)])...)

		want := false
		for _, s := range all {
			for i := range len(s.text) - s.need + 1 {
				want = want || bytes.Contains(stream, []byte(s.text[i:i+s.need]))
			}
		}
		s, err := New(secrets...)
		if err != nil {
			t.Fatal(err)
		}
		scanner, got := s.Scanner(), false
		for _, chunk := range cut(stream, cuts) {
			_, _, found := scanner.Scan(chunk)
			got = got || found
		}
		if got != want {
			t.Errorf("%q in chunks %v: found %t, want %t", stream, cuts, got, want)
		}
	})
}

// grow writes secrets into a stream where it has a low byte: the first bytes as many
// spellings, whole or in part.
func grow(seed []byte, spans []spelling) []byte {
	var b bytes.Buffer
	for _, c := range seed {
		if int(c) >= 2*len(spans) {
			b.WriteByte(c)
			continue
		}
		text := spans[c/2].text
		b.WriteString(text[:len(text)-int(c%2)*len(text)/3])
	}
	return b.Bytes()
}

// FuzzRedact: whatever the secrets, the stream and its chunks, exactly the bytes in
// whole secrets are hidden, and nothing is held back that cannot become one.
func FuzzRedact(f *testing.F) {
	f.Add("s3cr3t-t0k3n/+", "abababababab", []byte("\x00x\x01y\x02z\x03\x00\x00"), []byte{1, 2, 3, 4, 5, 30})
	f.Add("aaaaaaaa", "aaaaaaaaa", []byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), []byte{7, 1, 1, 9})
	f.Add("<\"&secret&\">", "\xff\xfe\x00\x01\x02\x03\x04\x05", []byte("\x01\x03\x05\x07\x09"), []byte{})
	f.Fuzz(func(t *testing.T, a, b string, seed, cuts []byte) {
		s, err := New(Named{"a", a}, Named{"b", b})
		if err != nil || len(a)+len(b) > 200 || len(seed) > 200 {
			return
		}
		spans := spellings([]Named{{"a", a}, {"b", b}}, true)
		stream := grow(seed, spans)
		want := slices.Clone(stream)
		for _, span := range spans {
			for i := range stream {
				if bytes.HasPrefix(stream[i:], []byte(span.text)) {
					copy(want[i:], strings.Repeat("*", len(span.text)))
				}
			}
		}
		var got bytes.Buffer
		w, came := s.Writer(&got), 0
		for _, chunk := range cut(stream, cuts) {
			if _, err := w.Write(chunk); err != nil {
				t.Fatal(err)
			}
			came += len(chunk)
			if held := string(stream[got.Len():came]); held != "" && !slices.ContainsFunc(spans, func(s spelling) bool {
				return len(held) < len(s.text) && strings.HasPrefix(s.text, held)
			}) {
				t.Errorf("%q is held back", held)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%q written in chunks %v becomes %q, want %q", stream, cuts, got.Bytes(), want)
		}
		read, err := io.ReadAll(s.Reader(&pieces{cut(stream, cuts)}))
		if err != nil || !bytes.Equal(read, want) {
			t.Errorf("%q read in chunks %v becomes %q, %v; want %q", stream, cuts, read, err, want)
		}
	})
}

// pieces reads chunk by chunk.
type pieces struct{ chunks [][]byte }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.chunks[0])
	if p.chunks[0] = p.chunks[0][n:]; len(p.chunks[0]) == 0 {
		p.chunks = p.chunks[1:]
	}
	return n, nil
}
