package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// attack is what a far end sends after its preface. The near end has opened a Dial as
// stream 1, a Control as stream 3 and the Stdin of a process as stream 5.
type attack struct {
	name  string
	bytes []byte
	want  Violation
}

func attacks() []attack {
	conn, full := openFrame(2, web), dataFrame(2, strings.Repeat("x", Window))
	head := func(b ...byte) []byte { return append(b, make([]byte, headSize-len(b))...) }
	kind := func(k byte, header string) []byte { return appendFrame(nil, typeOpen, 2, append([]byte{k}, header...)) }
	return []attack{
		{"type 0", head(0), UnknownType},
		{"type 9", head(9, 0, 0, 0, 0, 0, 0, 1), UnknownType},
		{"type 255", head(255), UnknownType},
		{"reserved bit", head(byte(typeFin), 1, 0, 0, 0, 0, 0, 1), ReservedBits},
		{"giant length", head(byte(typeData), 0, 0xff, 0xff, 0, 0, 0, 1), WrongLength},
		{"one byte too long", head(byte(typeData), 0, 0xff, 0xf9, 0, 0, 0, 1), WrongLength},
		{"fin with a body", appendFrame(nil, typeFin, 1, []byte{0}), WrongLength},
		{"credit of 3 bytes", appendFrame(nil, typeCredit, 1, make([]byte, 3)), WrongLength},
		{"credit of 8 bytes", appendFrame(nil, typeCredit, 1, make([]byte, 8)), WrongLength},
		{"empty open", appendFrame(nil, typeOpen, 2), WrongLength},
		{"reset without a reason", appendFrame(nil, typeReset, 1), WrongLength},
		{"data on stream 0", dataFrame(0, "x"), WrongStream},
		{"pong on a stream", appendFrame(nil, typePong, 1), WrongStream},
		{"ping by the far end", appendFrame(nil, typePing, 0), WrongSide},
		{"pong without ping", appendFrame(nil, typePong, 0), PongUnasked},

		{"dial by the far end", openFrame(2, Dial{Port: 80}), WrongSide},
		{"exec by the far end", kind(6, `{}`), WrongSide},
		{"control by the far end", openFrame(2, Control{}), WrongSide},
		{"put by the far end", openFrame(2, Put{Path: []byte("/etc/passwd")}), WrongSide},
		{"data on a stream to the far end", dataFrame(5, "x"), WrongSide},
		{"kind 0", kind(0, `{}`), WrongKind},
		{"kind 12", kind(12, `{}`), WrongKind},
		{"a question by the far end", kind(10, `{"what":"freeze","from":"","to":""}`), WrongSide},
		{"unknown field", kind(1, `{"port":"tcp","from":"127.0.0.1:1","to":"127.0.0.1:2","x":1}`), WrongHeader},
		{"field twice", kind(1, `{"port":"tcp","port":"tcp","from":"127.0.0.1:1","to":"127.0.0.1:2"}`), WrongHeader},
		{"field of other case", kind(1, `{"Port":"tcp","from":"127.0.0.1:1","to":"127.0.0.1:2"}`), WrongHeader},
		{"white space", kind(1, `{"port":"tcp", "from":"127.0.0.1:1","to":"127.0.0.1:2"}`), WrongHeader},
		{"bytes after the header", kind(1, `{"port":"tcp","from":"127.0.0.1:1","to":"127.0.0.1:2"}{}`), WrongHeader},
		{"no port name", kind(1, `{"port":"","from":"127.0.0.1:1","to":"127.0.0.1:2"}`), WrongHeader},
		{"port name that moves the cursor", kind(1, `{"port":"\u001b[2J","from":"127.0.0.1:1","to":"127.0.0.1:2"}`), WrongHeader},
		{"no destination", kind(1, `{"port":"tcp","from":"127.0.0.1:1","to":""}`), WrongHeader},
		{"destination with a zone", kind(1, `{"port":"tcp","from":"127.0.0.1:1","to":"[fe80::1%eth0]:2"}`), WrongHeader},
		{"IPv4 in IPv6", kind(1, `{"port":"tcp","from":"127.0.0.1:1","to":"[::ffff:127.0.0.1]:2"}`), WrongHeader},
		{"leading zero", kind(1, `{"port":"tcp","from":"127.0.0.1:01","to":"127.0.0.1:2"}`), WrongHeader},
		{"long header", kind(1, `{"port":"`+strings.Repeat("x", smallHeader)+`"}`), WrongHeader},
		{"header that is not JSON", kind(1, "\x00\x01"), WrongHeader},

		{"open of a number of the near end", openFrame(1, web), WrongNumber},
		{"open of a number that skips", openFrame(4, web), WrongNumber},
		{"open twice", join(conn, conn), WrongNumber},
		{"open of a used number", join(conn, finFrame(2), resetFrame(2, Gone), conn), WrongNumber},
		{"data on an unknown stream", dataFrame(2, "x"), UnknownStream},
		{"data on a stream to come", dataFrame(7, "x"), UnknownStream},
		{"data on the last number", dataFrame(0xffffffff, "x"), UnknownStream},
		{"credit on an unknown stream", creditFrame(4, 1), UnknownStream},
		{"fin on an unknown stream", finFrame(4), UnknownStream},
		{"reset on an unknown stream", resetFrame(4, Gone), UnknownStream},
		{"done on an unknown stream", doneFrame(4), UnknownStream},

		{"data after fin", join(finFrame(1), dataFrame(1, "x")), DataAfterFin},
		{"fin twice", join(finFrame(1), finFrame(1)), FinTwice},
		{"done before fin", doneFrame(1), EarlyDone},
		{"done after its own fin only", join(finFrame(1), doneFrame(1)), EarlyDone},
		{"empty data", dataFrame(1, ""), EmptyData},
		{"one byte more than the window", join(conn, full, dataFrame(2, "x")), WindowExceeded},
		{"a frame more than the window", join(conn, dataFrame(2, strings.Repeat("x", maxBody))), WindowExceeded},
		{"empty messages without end", bytes.Repeat(dataFrame(3, ""), Window/2+1), WindowExceeded},
		{"long message", dataFrame(3, strings.Repeat("x", MaxMessage+1)), MessageTooLong},
		{"credit of 0", creditFrame(1, 0), CreditOverflow},
		{"credit over the bound", creditFrame(1, MaxWindow), CreditOverflow},
		{"credit that wraps around 32 bits", creditFrame(1, 0xffffffff-Window+1), CreditOverflow},
		{"credit that adds up", bytes.Repeat(creditFrame(1, MaxWindow/2), 2), CreditOverflow},
		{"reset 0", resetFrame(1, 0), UnknownReset},
		{"reset 5", resetFrame(1, 5), UnknownReset},
	}
}

// victim is a near end with the streams that an attack may name.
func victim(t testing.TB, l *Link) []*Stream {
	t.Helper()
	var all []*Stream
	for _, h := range []Header{Dial{Port: 80}, Control{}, Stdio{Process: 1, Of: Stdin}} {
		s, err := l.Open(h)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestAttacksEndTheLink(t *testing.T) {
	defer noLeak(t)()
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			near, far := forged(t)
			streams := victim(t, near)
			far.Write(join([]byte(prefaces[Far]), a.bytes))
			far.CloseWrite() // a link that took it ends here, for another reason
			<-near.Done()
			if !errors.Is(near.Err(), a.want) || !strings.HasPrefix(near.Err().Error(), "the far end: ") {
				t.Errorf("the link ended with %v, want %v", near.Err(), a.want)
			}
			for _, s := range streams {
				if _, err := s.Write([]byte("x")); !errors.Is(err, a.want) {
					t.Errorf("%v: write: %v", s.Header(), err)
				}
			}
			if _, err := near.Accept(); !errors.Is(err, a.want) {
				t.Errorf("accept: %v", err)
			}
			if _, err := near.Open(Dial{Port: 80}); !errors.Is(err, a.want) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

// TestEveryViolationIsAttacked: a rule that no test breaks may not be one.
func TestEveryViolationIsAttacked(t *testing.T) {
	source, err := os.ReadFile("violation.go")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := []Violation{WrongPreface, AfterEnd, PingFlood, OpenFlood, WrongMessage} // the tests below
	for _, m := range regexp.MustCompile(`Violation = "(.*)"`).FindAllStringSubmatch(string(source), -1) {
		tried := false
		for _, v := range elsewhere {
			tried = tried || string(v) == m[1]
		}
		for _, a := range attacks() {
			tried = tried || string(a.want) == m[1]
		}
		if !tried {
			t.Errorf("no attack: %s", m[1])
		}
	}
}

func TestWhatIsNoFarEnd(t *testing.T) {
	for _, greeting := range []string{prefaces[Near], "Last login: Tue\n", "rffar\x00\x00\x02", "x"} {
		near, far := forged(t)
		far.Write([]byte(greeting))
		far.CloseWrite()
		<-near.Done()
		if !errors.Is(near.Err(), WrongPreface) {
			t.Errorf("%q: %v", greeting, near.Err())
		}
	}
}

// TestAfterTheLastFrame: the near end has not yet sent its own last frame, so it still
// knows the stream.
func TestAfterTheLastFrame(t *testing.T) {
	l := still(Near)
	l.out = l.out[:cap(l.out)] // nothing leaves
	if _, err := l.feed(join([]byte(prefaces[Far]), openFrame(2, web), resetFrame(2, Gone), creditFrame(2, 1))); !errors.Is(err, AfterEnd) {
		t.Error(err)
	}
}

// TestAStreamThatWasNotSentIsUnknown: numbers can be guessed.
func TestAStreamThatWasNotSentIsUnknown(t *testing.T) {
	l := still(Near)
	l.out = l.out[:cap(l.out)]
	victim(t, l)
	if _, err := l.feed(join([]byte(prefaces[Far]), dataFrame(1, "x"))); !errors.Is(err, UnknownStream) {
		t.Error(err)
	}
}

func TestPingFlood(t *testing.T) {
	l := still(Far)
	l.out = l.out[:cap(l.out)]
	ping := appendFrame(nil, typePing, 0)
	if _, err := l.feed(join([]byte(prefaces[Near]), ping, ping)); !errors.Is(err, PingFlood) {
		t.Error(err)
	}
}

// TestAnAnswerBeforeThePingLeft: it answers nothing.
func TestAnAnswerBeforeThePingLeft(t *testing.T) {
	l := still(Near)
	l.out, l.ping, l.asked = l.out[:cap(l.out)], true, true
	if _, err := l.feed(join([]byte(prefaces[Far]), appendFrame(nil, typePong, 0))); !errors.Is(err, PongUnasked) {
		t.Error(err)
	}
}

// TestOpenFlood: one stream too many is refused with a reset, up to as many refusals as the
// far end has not answered. The near end has opened its share, so that this one is the 4097th.
func TestOpenFlood(t *testing.T) {
	l := still(Near)
	if _, err := l.feed([]byte(prefaces[Far])); err != nil {
		t.Fatal(err)
	}
	sent := func() []byte {
		out := bytes.Clone(l.out)
		l.out = l.out[:0]
		return out
	}
	open := func(n uint32) error {
		_, err := l.feed(openFrame(2*n, web))
		return err
	}
	for range MaxStreams - MaxConns {
		if _, err := l.Open(Dial{Port: 80}); err != nil {
			t.Fatal(err)
		}
	}
	sent()
	for n := uint32(1); n <= MaxConns; n++ {
		if err := open(n); err != nil {
			t.Fatal(n, err)
		}
	}
	if b := sent(); len(b) != 0 {
		t.Fatalf("%x was sent to streams that are not too many", b)
	}
	if _, err := l.Open(Dial{Port: 80}); !errors.Is(err, ErrTooMany) {
		t.Errorf("open by the near end: %v", err)
	}
	for n := uint32(MaxConns + 1); n <= MaxConns+MaxStreams; n++ {
		if err := open(n); err != nil {
			t.Fatal(n, err)
		}
		if b := sent(); !bytes.Equal(b, resetFrame(2*n, TooMany)) {
			t.Fatalf("stream %d got %x", n, b)
		}
	}
	// An honest far end may have sent this before it heard of the refusal.
	last := uint32(2 * (MaxConns + MaxStreams))
	if _, err := l.feed(join(dataFrame(last, "x"), finFrame(last), resetFrame(last, Gone))); err != nil {
		t.Fatal(err)
	}
	if err := open(MaxConns + MaxStreams + 1); err != nil {
		t.Fatal("there was room for one more refusal:", err)
	}
	if err := open(MaxConns + MaxStreams + 2); !errors.Is(err, OpenFlood) {
		t.Error(err)
	}
	if n := len(l.streams); n != 2*MaxStreams {
		t.Errorf("%d streams are known", n)
	}
}

// TestOpenAndResetWithoutEnd: streams that come and go while nobody accepts leave nothing.
func TestOpenAndResetWithoutEnd(t *testing.T) {
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	for id := uint32(2); id < 40_000; id += 2 {
		if _, err := l.feed(join(openFrame(id, web), dataFrame(id, "x"), resetFrame(id, Gone))); err != nil {
			t.Fatal(err)
		}
		l.out = l.out[:0]
	}
	if len(l.streams) != 0 || l.live != [3]int{} || l.accepts.Len() != 0 || l.pop() != nil {
		t.Errorf("%d streams, %d live, %d to accept, or some to send", len(l.streams), l.live, l.accepts.Len())
	}
	// The same while the far end reads nothing that we send: it has to stop.
	l.out = l.out[:cap(l.out)]
	var err error
	for id := uint32(40_000); err == nil; id += 2 {
		if id > 40_000+4*MaxStreams+2 {
			t.Fatal("there is no bound")
		}
		_, err = l.feed(join(openFrame(id, web), resetFrame(id, Gone)))
	}
	if !errors.Is(err, OpenFlood) {
		t.Error(err)
	}
}

// TestAForgerCannotStopOthers: a frame that never ends stops this link alone, and Close
// ends it.
func TestAForgerCannotStopOthers(t *testing.T) {
	defer noLeak(t)()
	near, far := forged(t)
	s, err := near.Open(Dial{Port: 80})
	if err != nil {
		t.Fatal(err)
	}
	far.Write(join([]byte(prefaces[Far]), dataFrame(1, "whole"), dataFrame(1, "half a frame")[:12]))
	b := make([]byte, 64)
	if n, err := s.Read(b); err != nil || string(b[:n]) != "whole" {
		t.Fatalf("%q %v", b[:n], err)
	}
	read := make(chan error)
	go func() { _, err := s.Read(b); read <- err }()
	near.Close()
	if err := <-read; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	far.Close()
}

// TestEndWithinAFrame: nothing of a frame that was cut reaches a stream.
func TestEndWithinAFrame(t *testing.T) {
	whole := join([]byte(prefaces[Far]), openFrame(2, web), dataFrame(2, "secret"))
	for cut := 1; cut < len(whole); cut++ {
		near, far := sockets(t)
		l := New(near, Near, Options{})
		far.Write(whole[:cut])
		far.CloseWrite()
		<-l.Done()
		boundary := cut == headSize || cut == headSize+len(openFrame(2, web))
		if err := l.Err(); cut > headSize && !errors.Is(err, map[bool]error{true: ErrEnded, false: ErrCut}[boundary]) {
			t.Errorf("cut after %d: %v", cut, err)
		}
		l.Close()
	}
}

// TestLongHeadersAreNotParsed: the bound is there so that nobody makes us read much JSON.
func TestLongHeadersAreNotParsed(t *testing.T) {
	body := append([]byte{Conn{}.traits().kind}, make([]byte, smallHeader+1)...)
	if _, err := decodeHeader(Far, body); !errors.Is(err, WrongHeader) || !strings.HasSuffix(err.Error(), "513 bytes") {
		t.Error(err)
	}
}

// TestBadMessages: on the streams of messages what is inside is judged as strictly.
func TestBadMessages(t *testing.T) {
	for _, m := range []string{``, `{}`, `{"kind":"go"}`, `{"kind":"signal","signal":9}`, `{"kind":"exit","status":1,"signal":9}`,
		`{"kind":"exit","status":-1}`, `{"kind":"exit","status":65536}`, `{"kind":"exit", "status":1}`, `{"kind":"exit","status":1}x`, `{"kind":"probe"}`,
		`{"kind":"failed"}`, `{"kind":"exit","Status":1}`, `{"kind":"exit","status":0}`, `{"kind":"nonsense"}`,
		`{"kind":"exit","printed":{"out":-1}}`, `{"kind":"walls","printed":{"out":1}}`, `{"kind":"saw"}`, `{"kind":"saw","outside":{"name":"","value":"x"}}`, `{"kind":"answered"}`, `{"kind":"answered","answer":{"pid":-1}}`,
		`{"kind":"answered","answer":{"command":"` + strings.Repeat("x", maxCommand+1) + `"}}`,
		`{"kind":"answered","answer":{"ports":[` + strings.Repeat("1,", MaxPorts) + `1]}}`} {
		near, far := forged(t)
		s, err := near.Open(Control{})
		if err != nil {
			t.Fatal(err)
		}
		far.Write(join([]byte(prefaces[Far]), dataFrame(1, m)))
		if _, err := Receive(s); !errors.Is(err, WrongMessage) {
			t.Errorf("%s: %v", m, err)
		}
		if !errors.Is(near.Err(), WrongMessage) {
			t.Errorf("%s: the link ended with %v", m, near.Err())
		}
	}
	near, far := forged(t)
	s, err := near.Open(Datagrams{Port: "dns/udp"})
	if err != nil {
		t.Fatal(err)
	}
	far.Write(join([]byte(prefaces[Far]), dataFrame(1, "too short for it")))
	if _, _, err := (Packets{s}).ReadFromUDPAddrPort(nil); !errors.Is(err, WrongMessage) || !errors.Is(near.Err(), WrongMessage) {
		t.Error(err)
	}
}

// TestInterleaving: frames of many streams in turn, in pieces of any size.
func TestInterleaving(t *testing.T) {
	const streams, turns = 50, 40
	all := []byte(prefaces[Far])
	want := map[uint32][]byte{}
	for id := uint32(2); id <= 2*streams; id += 2 {
		all = append(all, openFrame(id, web)...)
	}
	for turn := range turns {
		for id := uint32(2); id <= 2*streams; id += 2 {
			p := binary.BigEndian.AppendUint32(nil, id*uint32(turn+1))
			want[id] = append(want[id], p...)
			all = append(all, appendFrame(nil, typeData, id, p)...)
		}
	}
	for id := uint32(2); id <= 2*streams; id += 2 {
		all = append(all, finFrame(id)...)
	}
	for _, size := range []int{1, 7, 4096, len(all)} {
		near, far := forged(t)
		go func() {
			for p := all; len(p) > 0; p = p[min(size, len(p)):] {
				far.Write(p[:min(size, len(p))])
			}
		}()
		for range streams {
			s := accept(t, near)
			if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, want[s.id]) {
				t.Errorf("pieces of %d: stream %d has %x, %v", size, s.id, got, err)
			}
		}
		near.Close()
	}
}
