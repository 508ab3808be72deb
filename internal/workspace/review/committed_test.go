package review

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"os"
	"testing"
)

// packIndex is the index of a pack with one object.
func packIndex(id []byte) []byte {
	b := []byte("\xfftOc\x00\x00\x00\x02")
	for i := range 256 {
		n := uint32(0)
		if i >= int(id[0]) {
			n = 1
		}
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return append(append(b, id...), make([]byte, 48)...)
}

func phantomWork(t testing.TB) (*Work, []byte) {
	t.Helper()
	w := New(t.TempDir(), "k3x9ab2c4d")
	w.Add(Tree{Path: t.TempDir(), View: Review})
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := []byte("TOKEN=stands-for-another\n")
	if err := w.notePhantoms(0, map[string][]byte{".env": text}); err != nil {
		t.Fatal(err)
	}
	id, err := hex.DecodeString(blobID(text, 20))
	if err != nil {
		t.Fatal(err)
	}
	return w, id
}

func TestPackHasPhantom(t *testing.T) {
	w, id := phantomWork(t)
	idx := packIndex(id)
	if !w.packHasPhantom(idx) {
		t.Error("a phantom in a pack was not found")
	}
	other := bytes.Clone(id)
	other[19] ^= 1
	for name, b := range map[string][]byte{"another": packIndex(other), "cut": idx[:8+256*4+19], "none": nil, "short": idx[:100]} {
		if w.packHasPhantom(b) {
			t.Errorf("%s: found", name)
		}
	}
}

// FuzzPackHasPhantom: whatever an index says of itself, it is read within its bounds.
func FuzzPackHasPhantom(f *testing.F) {
	w, id := phantomWork(f)
	idx := packIndex(id)
	f.Add(idx)
	f.Add(idx[:8+256*4])
	f.Add(append(bytes.Clone(idx[:8+255*4]), 0xff, 0xff, 0xff, 0xff, 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		if w.packHasPhantom(b) && !bytes.Contains(b, id) {
			sha256ID, _ := hex.DecodeString(blobID(w.phantomTexts()[phantomKey(0, ".env")], 32))
			if !bytes.Contains(b, sha256ID) {
				t.Error("found where it is not")
			}
		}
	})
}

// FuzzLooseObject: no object makes it read without end.
func FuzzLooseObject(f *testing.F) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte("blob 4\x00A=1\n"))
	z.Close()
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:5])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(looseObject(b)); n > maxObject {
			t.Errorf("%d bytes", n)
		}
	})
}
