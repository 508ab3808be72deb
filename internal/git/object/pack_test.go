package object

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// smallIndex is an index of the ids, each at the offset 12.
func smallIndex(ids ...ID) []byte {
	b := append([]byte("\xfftOc\x00\x00\x00\x02"), make([]byte, 1024)...)
	for _, id := range ids {
		for i := int(id.raw[0]); i < 256; i++ {
			at := b[fanOut+4*i:]
			binary.BigEndian.PutUint32(at, binary.BigEndian.Uint32(at)+1)
		}
		b = append(b, id.Bytes()...)
	}
	b = append(b, make([]byte, 4*len(ids))...)
	for range ids {
		b = binary.BigEndian.AppendUint32(b, packHeader)
	}
	return append(b, make([]byte, 40)...)
}

// FuzzIndex: an id is found only if it stands among the names, and the offset is
// one that the file tells.
func FuzzIndex(f *testing.F) {
	id := mustID(f, tree1)
	for _, b := range realFiles(f, "idx") {
		f.Add(b)
	}
	small := smallIndex(id)
	f.Add(small)
	f.Add(small[:len(small)-1])
	f.Add(small[:fanOutEnd])
	large := bytes.Clone(small)
	binary.BigEndian.PutUint32(large[len(large)-44:], 1<<31)
	f.Add(large)                                                                          // names a large offset that is not there
	f.Add(append(large[:len(large)-40], append(make([]byte, 7), make([]byte, 41)...)...)) // and one that is
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, text := range []string{tree1, tree2, parent} {
			id := mustID(t, text)
			x, err := openIndex(bytes.NewReader(b), int64(len(b)), int(id.size))
			if err != nil {
				continue
			}
			offset, ok, err := x.find(id)
			switch {
			case ok && err != nil:
				t.Errorf("both found and %v", err)
			case ok && !bytes.Contains(b[fanOutEnd:x.offsets()], id.Bytes()):
				t.Error("found what is not there")
			case ok && (offset < 0 || offset >= 1<<62):
				t.Errorf("offset %d", offset)
			}
		}
	})
}

// FuzzIndexParts: an index of any ids, with any table before and any offsets
// after them. What is found is there, at the offset that stands beside it.
func FuzzIndexParts(f *testing.F) {
	id := mustID(f, tree1)
	two := append(mustID(f, parent).Bytes(), id.Bytes()...)
	f.Add(two, []byte{}, []byte{0, 0, 0, 12, 0, 0, 0, 40}, []byte{})
	f.Add(two, []byte{0x4a, 0, 0, 0, 9}, []byte{0, 0, 0, 12, 0, 0, 0, 40}, []byte{})
	f.Add(two, []byte{}, []byte{0, 0, 0, 12, 0x80, 0, 0, 0}, []byte{0, 0, 0, 1, 0, 0, 0, 0})
	f.Add(two, []byte{}, []byte{0, 0, 0, 12, 0x80, 0, 0, 1}, []byte{0, 0, 0, 1, 0, 0, 0, 0})
	f.Add(two, []byte{}, []byte{0, 0, 0, 12, 0x80, 0, 0, 0}, []byte{0xff, 0, 0, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, ids, table, offsets, large []byte) {
		n := len(ids) / 20
		b := append([]byte("\xfftOc\x00\x00\x00\x02"), make([]byte, 1024)...)
		for i := range n {
			for j := int(ids[20*i]); j < 256; j++ {
				at := b[fanOut+4*j:]
				binary.BigEndian.PutUint32(at, binary.BigEndian.Uint32(at)+1)
			}
		}
		for ; len(table) >= 5; table = table[5:] {
			copy(b[fanOut+4*int(table[0]):], table[1:5])
		}
		b = append(append(b, ids[:20*n]...), make([]byte, 4*n)...)
		beside := make([]byte, 4*n)
		copy(beside, offsets)
		b = append(append(append(b, beside...), large...), make([]byte, 40)...)
		x, err := openIndex(bytes.NewReader(b), int64(len(b)), 20)
		if err != nil {
			return
		}
		for i := range n {
			id := idFrom(ids[20*i:], 20)
			offset, ok, err := x.find(id)
			if !ok {
				continue
			}
			if err != nil || offset < 0 || offset >= 1<<62 {
				t.Fatalf("%s at %d: %v", id, offset, err)
			}
			told := false
			for j := range n {
				small := int64(binary.BigEndian.Uint32(beside[4*j:]))
				told = told || idFrom(ids[20*j:], 20) == id && (small == offset || small >= 1<<31)
			}
			if !told {
				t.Fatalf("%s at %d, which nobody told", id, offset)
			}
		}
	})
}

func deflate(b []byte) []byte {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	_, _ = z.Write(b) // to memory
	_ = z.Close()
	return out.Bytes()
}

// FuzzPack: whatever a pack holds, an object comes out of it within the budget,
// or an error.
func FuzzPack(f *testing.F) {
	for _, b := range realFiles(f, "pack") {
		f.Add(b, uint16(packHeader))
	}
	head := "PACK\x00\x00\x00\x02\x00\x00\x00\x02"
	base := append([]byte(head+"\x35"), deflate([]byte("hello"))...)
	f.Add(base, uint16(packHeader))
	delta := append(bytes.Clone(base), 0x60|7, byte(len(base)-packHeader))
	f.Add(append(delta, deflate([]byte("\x05\x0a\x90\x05\x90\x05"))...), uint16(len(base)))
	loop := append([]byte(head+"\x70"), mustID(f, parent).Bytes()...)
	f.Add(append(loop, deflate(nil)...), uint16(packHeader))
	f.Fuzz(func(t *testing.T, b []byte, offset uint16) {
		idx := smallIndex(mustID(t, parent))
		x, err := openIndex(bytes.NewReader(idx), int64(len(idx)), 20)
		if err != nil {
			t.Fatal(err)
		}
		left := budget(1 << 20)
		p := &packFile{index: x, r: bytes.NewReader(b), size: int64(len(b))}
		typ, content, err := p.object(int64(offset), &left)
		if err == nil && (!typ.known() || len(content) > 1<<20 || left < 0) {
			t.Errorf("%q of %d bytes, %d left", typ, len(content), left)
		}
	})
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte("hello"), []byte("\x05\x0a\x90\x05\x90\x05"))
	f.Add([]byte("hello"), []byte("\x05\x03\x03abc"))
	f.Add([]byte("hello"), []byte("\x05\xff\xff\xff\xff\x7f\x80"))
	f.Fuzz(func(t *testing.T, base, delta []byte) {
		left := budget(1 << 20)
		out, err := applyDelta(base, delta, &left)
		if err != nil {
			return
		}
		_, rest, _ := deltaSize(delta)
		if to, _, err := deltaSize(rest); err != nil || to != int64(len(out)) || left < 0 {
			t.Errorf("%d bytes, %d left", len(out), left)
		}
	})
}

func FuzzLoose(f *testing.F) {
	f.Add(deflate([]byte("blob 5\x00hello")))
	f.Add(deflate([]byte("blob 05\x00hello")))
	f.Add(deflate([]byte("blob 6\x00hello")))
	f.Add(deflate([]byte("blob 4\x00hello")))
	f.Add([]byte("blob 5\x00hello"))
	f.Fuzz(func(t *testing.T, b []byte) {
		left := budget(1 << 20)
		typ, content, err := readLoose(bytes.NewReader(b), &left)
		if err == nil && (!typ.known() || len(content) > 1<<20 || left < 0) {
			t.Errorf("%q of %d bytes, %d left", typ, len(content), left)
		}
	})
}

// realFiles returns what git itself writes.
func realFiles(f *testing.F, ext string) [][]byte {
	f.Helper()
	w := newWorld(f)
	var files [][]byte
	for _, format := range []string{"sha1", "sha256"} {
		w.git(".", "init", "-q", "--object-format="+format, format)
		w.git(format, "commit", "-q", "--allow-empty", "-m", "x")
		w.git(format, "repack", "-q", "-a", "-d")
		paths, err := filepath.Glob(w.objects(format) + "/pack/*." + ext)
		if err != nil || len(paths) != 1 {
			f.Fatal(paths, err)
		}
		b, err := os.ReadFile(paths[0])
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, b)
	}
	return files
}
