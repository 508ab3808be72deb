package link

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// conversations are what an honest far end may send to the near end of victim.
func conversations() [][]byte {
	conn := openFrame(2, web)
	return [][]byte{
		conn,
		join(conn, dataFrame(2, "GET / HTTP/1.1\r\n\r\n"), creditFrame(2, 8192), finFrame(2)),
		join(conn, finFrame(2), resetFrame(2, Gone), openFrame(4, web), dataFrame(4, "x")),
		join(dataFrame(1, "\x01"), dataFrame(1, "answer"), creditFrame(1, 100), finFrame(1)),
		join(dataFrame(3, `{"kind":"walls","keyring":7}`), dataFrame(3, ""), dataFrame(3, `{"kind":"exit","status":256}`)),
		join(resetFrame(1, Refused), creditFrame(5, 1), finFrame(5), finFrame(3)),
		join(conn, dataFrame(2, "a"), openFrame(4, web), dataFrame(4, "b"), dataFrame(2, "c"), dataFrame(4, "d"), finFrame(4), resetFrame(2, Failed)),
	}
}

// FuzzDecode: frames never depend on how their bytes arrive, and a frame that is taken is
// the one form of what it says.
func FuzzDecode(f *testing.F) {
	for _, c := range conversations() {
		f.Add(c, uint8(1))
	}
	for _, a := range attacks() {
		f.Add(a.bytes[:min(len(a.bytes), 200)], uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		for at := 0; ; {
			f, n, err := parse(b[at:])
			// A head is enough to refuse it.
			short := b[at:min(len(b), at+headSize)]
			if _, _, early := parse(short); len(short) == headSize && (early != nil) != (err != nil) {
				t.Fatalf("%x: %v, and with all of it %v", short, early, err)
			}
			var v Violation
			if err != nil && (!errors.As(err, &v) || n != 0) {
				t.Fatalf("%v, %d", err, n)
			}
			if n == 0 {
				return
			}
			if n > MaxFrame || !bytes.Equal(appendFrame(nil, f.kind, f.id, f.body), b[at:at+n]) {
				t.Fatalf("%x is read as %+v", b[at:at+n], f)
			}
			for cut := at; cut < at+n; cut += 1 + int(piece) {
				if _, n, err := parse(b[at:cut]); n != 0 || err != nil {
					t.Fatalf("a part of it: %d, %v", n, err)
				}
			}
			if f.kind == typeOpen {
				sameHeader(t, f.body)
			}
			at += n
		}
	})
}

// sameHeader: a header that is taken is the one that we would have sent.
func sameHeader(t *testing.T, body []byte) {
	for _, from := range []Role{Near, Far} {
		h, err := decodeHeader(from, body)
		if err != nil {
			continue
		}
		if again, err := encodeHeader(from, h); err != nil || !bytes.Equal(again, body) {
			t.Fatalf("%q is read as %+v and written as %q, %v", body, h, again, err)
		}
	}
}

// FuzzMessage does the same for the messages of Control, Exec and Datagrams.
func FuzzMessage(f *testing.F) {
	for _, m := range []string{`{"kind":"go"}`, `{"kind":"signal","signal":9}`, `{"kind":"size","terminal":{"rows":1,"cols":2}}`, `{"kind":"exit"}`,
		`{"kind":"probe","seen":{"probe":"a","open":true,"detail":"\u003c"}}`, `{"kind":"exit","status":9,"printed":{"out":3,"terminal":4}}`, `{"kind":"saw","outside":{"name":"ns.net","value":"4026531840"}}`, `{"kind":"answered","answer":{"ports":[80,443],"pid":7,"command":"curl"}}`,
		`{"kind":"failed","failure":{"step":"a","text":"b","errno":1}}`} {
		f.Add([]byte(m))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, near := decodeMessage(Near, b)
		m, far := decodeMessage(Far, b)
		if near == nil && far == nil {
			t.Fatalf("both ends may send %q", b)
		}
		if far == nil && (m.Kind == wire.Go || m.Kind == wire.Signal || m.Kind == wire.Size) {
			t.Fatalf("the far end may send %q", b)
		}
		if a, data, err := parseDatagram(b); err == nil && !bytes.Equal(appendDatagram(nil, a, data), b) {
			t.Fatalf("%x is %v and %x", b, a, data)
		}
	})
}

// FuzzLink: a far end sends arbitrary bytes, in pieces, while the near end accepts, reads,
// writes and closes as the script says. The link ends or stays well.
func FuzzLink(f *testing.F) {
	for i, c := range conversations() {
		f.Add(c, []byte{byte(i), 3, 40, 77, 200, 9})
	}
	for i, a := range attacks() {
		f.Add(a.bytes[:min(len(a.bytes), 400)], []byte{byte(i), 5, 90})
	}
	f.Fuzz(func(t *testing.T, sent, script []byte) { playForger(t, sent, script) })
}

// Buffers of playForger: what it does must be fast.
var forgerOut, forgerRead = make([]byte, 0, outSize), make([]byte, MaxMessage)

// playForger feeds a near end, and compares what its streams read with what was sent to
// them by the simplest reading there is. It returns how many frames were taken.
func playForger(t *testing.T, sent, script []byte) (frames int, err error) {
	l := newLink(Near, forgerOut)
	streams := victim(t, l)
	l.feed([]byte(prefaces[Far]))
	want, got := map[uint32][]byte{}, map[uint32][]byte{}
	for at, begin, i := 0, 0, 0; at < len(sent) && err == nil; i++ {
		turn := byte(i)
		if len(script) > 0 {
			turn = script[i%len(script)]
		}
		at = min(len(sent), at+1+int(turn)*3)
		var n int
		n, err = l.feed(sent[begin:at])
		frames += note(want, sent[begin:begin+n])
		begin += n
		for l.accepts.Len() > 0 {
			streams = append(streams, accept(t, l))
		}
		act(t, streams[int(turn)%len(streams)], turn, got)
		l.out = l.out[:0]
	}
	for id, b := range got {
		if !bytes.HasPrefix(want[id], b) {
			t.Fatalf("stream %d reads %x, and %x was sent to it", id, b, want[id])
		}
	}
	wellFormed(t, l, err)
	return frames, err
}

// note adds the data of whole frames to what each stream should have.
func note(want map[uint32][]byte, b []byte) (frames int) {
	for ; len(b) > 0; frames++ {
		f, n, _ := parse(b)
		if f.kind == typeData {
			want[f.id] = append(want[f.id], f.body...)
		}
		b = b[n:]
	}
	return frames
}

// act does to a stream what a byte says, without ever waiting.
func act(t *testing.T, s *Stream, turn byte, got map[uint32][]byte) {
	switch turn % 8 {
	case 0, 1, 2, 3:
		if s.in.size == 0 || s.readErr != nil {
			return
		}
		p := forgerRead
		n, err := s.Read(p)
		if err != nil {
			t.Fatal(err)
		}
		got[s.id] = append(got[s.id], p[:n]...)
	case 4:
		if s.credit > 100 && s.data[Near] {
			s.Write([]byte("near"))
		}
	case 5:
		if !s.messages {
			s.outlet = taker(int(turn), s.id, got)
		}
	case 6:
		s.CloseWrite()
	case 7:
		if turn > 128 {
			s.Reset(Refused)
		} else {
			s.Close()
		}
	}
}

// taker is a way out that takes a few bytes at once, as a socket that is almost full does.
func taker(most int, id uint32, got map[uint32][]byte) outlet {
	return func(parts [][]byte) (n int) {
		for _, p := range parts {
			k := min(len(p), most-n)
			got[id] = append(got[id], p[:k]...)
			n += k
		}
		return n
	}
}

// wellFormed: the books of a link agree, and the bounds hold.
func wellFormed(t *testing.T, l *Link, err error) {
	var v Violation
	if err != nil && !errors.As(err, &v) {
		t.Fatalf("the link ended without a violation: %v", err)
	}
	if l.held != nil || len(l.parts) != 0 {
		t.Fatal("bytes are left in a buffer that is read into again")
	}
	live, refused, growth := [3]int{}, 0, 0
	for _, s := range l.streams {
		if s.refused {
			refused++
		} else {
			live[s.opener()]++
		}
		growth += s.window - Window
		if s.in.size > s.window || len(s.in.b) > s.window || s.left < 0 || s.left > s.window || s.credit < 0 || s.credit > MaxWindow || s.settled || s.reading {
			t.Fatalf("stream %d: %d bytes in %d, window %d, left %d, credit %d", s.id, s.in.size, len(s.in.b), s.window, s.left, s.credit)
		}
	}
	if live != l.live || refused != l.refused || live[Near]+live[Far] > MaxStreams || live[Far] > MaxConns || l.growth != Growth-growth {
		t.Fatalf("%v live of %v, %d refused of %d, growth %d and %d", live, l.live, refused, l.refused, l.growth, growth)
	}
}

// TestAMillionFrames: valid conversations of a far end, mutated. Only frames count that
// the near end took or refused, not those that came after its end.
func TestAMillionFrames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seeds := conversations()
	ended := map[Violation]int{}
	clean, want := 0, 1_000_000
	if testing.Short() {
		want /= 10
	}
	for frames := 0; frames < want; {
		var all []byte
		for range 1 + r.IntN(40) {
			all = append(all, seeds[r.IntN(3)]...)
		}
		all = append(all, seeds[r.IntN(len(seeds))]...)
		all = renumber(r, all)
		mutate(r, all)
		script := []byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
		n, err := playForger(t, all, script)
		frames += n
		var v Violation
		if errors.As(err, &v) {
			ended[v]++
			frames++
		} else {
			clean++
		}
	}
	if clean == 0 || len(ended) < 12 {
		t.Errorf("%d conversations passed, the others ended with %v", clean, ended)
	}
}

// renumber gives most streams that are opened the numbers that are due.
func renumber(r *rand.Rand, b []byte) []byte {
	due, now := uint32(2), map[uint32]uint32{}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		f, n, _ := parse(b)
		if f.kind == typeOpen {
			now[f.id] = due
			due += 2
		}
		id := f.id
		if to, ok := now[id]; ok && r.IntN(200) > 0 {
			id = to
		}
		out = appendFrame(out, f.kind, id, f.body)
		b = b[n:]
	}
	return out
}

// mutate changes nothing, a bit, a byte, a piece, or an order.
func mutate(r *rand.Rand, b []byte) {
	for range r.IntN(3) {
		at := r.IntN(len(b))
		switch r.IntN(4) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b[at] = byte(r.Uint32())
		case 2:
			from := r.IntN(len(b))
			copy(b[at:], b[from:min(len(b), from+9)])
		default:
			slices.Reverse(b[at:min(len(b), at+1+r.IntN(8))])
		}
	}
}
