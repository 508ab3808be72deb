package envelope

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
)

func sealed(t testing.TB, public []byte, purpose string, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	s, err := Seal(&out, public, purpose)
	if err == nil {
		_, err = s.Write(data)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func opened(k *Key, b []byte, purpose string) ([]byte, error) {
	r, err := k.Open(bytes.NewReader(b), purpose)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func newKey(t testing.TB) *Key {
	t.Helper()
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What is sealed comes out again, and nothing of it shows. The key is kept as bytes between.
func TestSealedAndOpened(t *testing.T) {
	k := newKey(t)
	b, err := k.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseKey(b)
	if err != nil || !bytes.Equal(again.Public(), k.Public()) {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, piece - 1, piece, piece + 1, 3*piece + 17} {
		data := bytes.Repeat([]byte("a plain word "), size/13+1)[:size]
		box := sealed(t, k.Public(), "p", data)
		if size > 13 && bytes.Contains(box, data[:13]) {
			t.Error("it shows")
		}
		if got, err := opened(again, box, "p"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// Anything else than what was sealed is refused.
func TestBroken(t *testing.T) {
	k := newKey(t)
	data := make([]byte, 2*piece+100)
	rand.Read(data)
	box := sealed(t, k.Public(), "p", data)
	head, one := len(magic)+encSize, headSize+piece+overhead
	part := func(n int) []byte { return box[head+n*one : min(len(box), head+(n+1)*one)] }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	flip := func(at int) []byte {
		b := bytes.Clone(box)
		b[at] ^= 1
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"half of its head":      box[:head/2],
		"its head":              box[:head],
		"without its end":       box[:head+2*one],
		"cut in a piece":        box[:len(box)-1],
		"in another order":      join(box[:head], part(1), part(0), part(2)),
		"without the first":     join(box[:head], part(1), part(2)),
		"one twice":             join(box[:head], part(0), part(0), part(1), part(2)),
		"more after the end":    append(bytes.Clone(box), 0),
		"twice":                 join(box, box),
		"another magic":         flip(0),
		"another key":           flip(len(magic) + 3),
		"a last one before":     flip(head),
		"a piece changed":       flip(head + one + 200),
		"a length changed":      flip(head + 4),
		"of another stream":     join(box[:head], sealed(t, k.Public(), "p", data)[head:]),
		"for another purpose":   sealed(t, k.Public(), "q", data),
		"for another recipient": sealed(t, newKey(t).Public(), "p", data),
	} {
		var broken Broken
		if _, err := opened(k, b, "p"); !errors.As(err, &broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	if _, err := ParseKey([]byte("short")); err == nil {
		t.Error("a private key")
	}
	if _, err := Seal(io.Discard, make([]byte, 10), ""); err == nil {
		t.Error("a public key")
	}
}

// Whatever comes, only what was sealed is given as a whole.
func FuzzOpen(f *testing.F) {
	k, err := ParseKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(magic))
	f.Add(append([]byte(magic), make([]byte, encSize+headSize)...))
	f.Add(sealed(f, k.Public(), "p", []byte("hello")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := opened(k, b, "another purpose"); err == nil {
			t.Errorf("%q was opened", got)
		}
	})
}
