package undo

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	gitobject "ringfence.dev/ringfence/internal/git/object"
)

// framed makes a log of bytes that do not know of lengths and checksums: each
// record has one byte before it that says how long it is.
func framed(data []byte) (log []byte) {
	for len(data) > 1 {
		n := min(int(data[0]), len(data)-1)
		body := data[1 : 1+n]
		data = data[1+n:]
		log = binary.LittleEndian.AppendUint32(log, uint32(n))
		log = binary.LittleEndian.AppendUint32(log, ^uint32(n))
		log = append(binary.LittleEndian.AppendUint32(log, crc32.Checksum(body, castagnoli())), body...)
	}
	return log
}

// unframed is the way back.
func unframed(log []byte) (data []byte) {
	for len(log) > frame {
		n := int(log[0])
		data = append(append(data, byte(n)), log[frame:frame+n]...)
		log = log[frame+n:]
	}
	return data
}

// FuzzRecords: any bytes are either an error or come out as the same bytes.
func FuzzRecords(f *testing.F) {
	f.Add(seed())
	f.Add(seed()[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		var out []byte
		size, err := readRecords(bytes.NewReader(data), 0, func(r record) error {
			out = pack(out, &r)
			return nil
		})
		if int64(len(out)) != size || size > int64(len(data)) || !bytes.Equal(out, data[:size]) {
			t.Fatalf("%x came out as %x, %v", data, out, err)
		}
	})
}

// FuzzLog: a log of any bytes is read without harm. What is read comes out as the
// same bytes, and says nothing about places that are outside of its trees.
func FuzzLog(f *testing.F) {
	f.Add(unframed(seed()))
	f.Add(unframed(pack(nil, &record{op: opHead, trees: []string{"/a"}}, &record{op: opLinked, from: place{0, "a"}, to: place{0, "b"}},
		&record{op: opRenamed, from: place{0, "b"}, to: place{0, "c"}}, &record{op: opTouch, from: place{0, ""}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = framed(data)
		l := &Log{first: map[place]*original{}, at: map[uint32]place{}, begun: map[ident]bool{}, aside: map[place]bool{}, left: map[place]left{}, shaken: map[place]bool{}}
		var out []byte
		size, err := readRecords(bytes.NewReader(data), 0, func(r record) error {
			out = pack(out, &r)
			return l.replay(r)
		})
		if err == nil && !bytes.Equal(out, data[:size]) {
			t.Fatalf("%x came out as %x", data[:size], out)
		}
		if err != nil || l.names == nil {
			return
		}
		for i, root := range l.names.roots {
			l.index(place{i, ""}, root)
		}
		for _, original := range l.all {
			checkPlace(t, l, original.home)
			if uint64(original.blob) >= uint64(len(l.all)) {
				t.Fatalf("content %d of %d", original.blob, len(l.all))
			}
		}
		for _, at := range l.at {
			checkPlace(t, l, at)
		}
		for _, g := range l.parts(nil) {
			checkPlace(t, l, g.at)
		}
	})
}

func checkPlace(t *testing.T, l *Log, s place) {
	if s.tree < 0 || s.tree >= len(l.trees) {
		t.Fatalf("tree %d of %d", s.tree, len(l.trees))
	}
	for name := range strings.SplitSeq(s.rel, "/") {
		if s.rel != "" && (name == "" || name == "." || name == "..") {
			t.Fatalf("path %q", s.rel)
		}
	}
}

// seed is a log in which every kind of record is.
func seed() []byte {
	a, b := place{0, "a/b"}, place{1, "c"}
	img := image{kind: "file", mode: 0o644, size: 3, blob: 2}
	return pack(nil, &record{op: opHead, trees: []string{"/a", "/b"}}, &record{op: opTouch, from: a},
		&record{op: opImage, id: 2, image: img}, &record{op: opCreated, from: b},
		&record{op: opRenamed, from: a, to: b}, &record{op: opNotRenamed, from: a, to: b},
		&record{op: opLinked, from: a, to: b}, &record{op: opEnd, end: moment{1, 2}})
}

// FuzzRestoreLog does the same with the log that a restore leaves.
func FuzzRestoreLog(f *testing.F) {
	a, b := place{0, "a/b"}, place{1, "c"}
	head := &record{op: opHead, trees: []string{"/a", "/b"}}
	f.Add(unframed(pack(nil, head, &record{op: opTemp, from: a}, &record{op: opDone}, &record{op: opBack, id: 2},
		&record{op: opBegin, ident: ident{1, 2}}, &record{op: opMove, from: a, to: b}, &record{op: opSkip})))
	f.Add(unframed(pack(nil, head, &record{op: opMove, from: b, to: a}, &record{op: opDone}, &record{op: opMove, from: a, to: place{0, "a"}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &Log{first: map[place]*original{}, at: map[uint32]place{}, begun: map[ident]bool{}, aside: map[place]bool{}, left: map[place]left{}, shaken: map[place]bool{}}
		if _, err := readRecords(bytes.NewReader(seed()), 0, l.replay); err != nil {
			t.Fatal(err)
		}
		for i, root := range l.names.roots {
			l.index(place{i, ""}, root)
		}
		if _, err := readRecords(bytes.NewReader(framed(data)), 2, l.replayRestore); err != nil {
			return
		}
		for _, at := range l.at {
			checkPlace(t, l, at)
		}
		for _, g := range l.parts(nil) {
			checkPlace(t, l, g.at)
		}
	})
}

// FuzzIndex: whatever an index is, it is read within its bounds, and what was read says the
// same again.
func FuzzIndex(f *testing.F) {
	entry := func(name string) []byte {
		b := make([]byte, 62, 72)
		b[27] = 0o100
		b = append(b, name...)
		return append(b, make([]byte, 8-len(b)%8)...)
	}
	head := []byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x02")
	plain := append(append(slices.Clone(head), entry("a")...), entry("d/long name")...)
	f.Add(append(slices.Clone(plain), make([]byte, 20)...))
	tree := append(slices.Clone(plain), "TREE\x00\x00\x00\x1a\x002 0\n"...)
	f.Add(append(tree, make([]byte, 40)...))
	f.Add([]byte("DIRC\x00\x00\x00\x04\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := readIndex(b)
		if err != nil {
			return
		}
		if again, err := readIndex(b); err != nil || again.meaning != x.meaning || len(again.ids) != len(x.ids) {
			t.Fatalf("read twice: %v", err)
		}
		if len(x.ids)*20 > len(b) {
			t.Fatalf("%d ids in %d bytes", len(x.ids), len(b))
		}
	})
}

// FuzzPackIndex: whatever the index of a pack is, looking something up ends.
func FuzzPackIndex(f *testing.F) {
	f.Add([]byte("\xfftOc\x00\x00\x00\x02"), "00")
	f.Add(append([]byte("\xfftOc\x00\x00\x00\x02"), bytes.Repeat([]byte{0, 0, 0, 1}, 256)...), strings.Repeat("0", 40))
	f.Fuzz(func(t *testing.T, b []byte, id string) { gitobject.Indexed(bytes.NewReader(b), int64(len(b)), id) })
}
