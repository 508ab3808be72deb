package dns

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// seeds are valid queries, queries that are nearly valid, and answers.
func seeds() [][]byte {
	ok := section("a.test", 1)
	return [][]byte{
		plain(7, "a.test", 1),
		plain(0xffff, "wWw.ExAmPlE.tEsT", 28),
		plain(7, "", 2),
		plain(7, name253, 65),
		edns(7, "a.test", 1, 1232),
		join(head(7, 0x06ff, 1, 0, 0, 1), ok, opt(512, 0, 0xffff, padding(20)...)),
		join(head(7, 0, 1, 0, 0, 1), ok, opt(512, 1, 0)),
		join(head(7, 0, 1, 0, 0, 2), ok, opt(512, 0, 0), opt(512, 0, 0)),
		join(head(7, 0, 1, 0, 0, 0), appendWords(nil, 0xc00c, 1, 1)),
		join(head(7, 0, 1, 0, 0, 0), []byte("\x01a\xc0\x0c\x00\x01\x00\x01")),
		join(head(7, 5<<11, 1, 0, 1, 0), ok),
		join(head(7, bitQR, 1, 0, 0, 0), ok),
	}
}

// FuzzParse holds Parse against another parser: it accepts what that one reads
// and could have written just so, within the rules; and every reply to it is one
// that the other one reads back as it was meant.
func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		before := bytes.Clone(msg)
		q, err := Parse(msg)
		if !bytes.Equal(msg, before) {
			t.Fatal("the message was written to")
		}
		if want := valid(msg); want != (err == nil) {
			t.Fatalf("valid = %v, Parse = %v", want, err)
		}
		var fault *Error
		if errors.As(err, &fault) {
			if wantDrop := len(msg) < headerSize || msg[2]&0x80 != 0; fault.Drop != wantDrop {
				t.Fatalf("drop = %v: %v", fault.Drop, err)
			}
			if !fault.Drop {
				checkReply(t, q, Answer{Code: fault.Code, V4: v4, V6: v6}, minUDP)
			}
			return
		}
		checkQuestion(t, msg, q)
		for _, a := range []Answer{
			{V4: v4, V6: v6, TTL: 60},
			{Code: dnsmessage.RCodeRefused, EDE: 15, Text: strings.Repeat("words ", 40)},
			{V6: v6, EDE: 1, Text: strings.Repeat("x", 200)},
		} {
			checkReply(t, q, a, q.UDPSize)
			checkReply(t, q, a, len(msg))
			checkReply(t, q, a, maxTCP)
		}
	})
}

// valid is the rule, written down a second time over another parser. That one
// reads pointers and leaves bytes over; what it writes has neither.
func valid(msg []byte) bool {
	var m dnsmessage.Message
	if len(msg) > MaxQuery || m.Unpack(msg) != nil {
		return false
	}
	if m.Response || m.OpCode != 0 || len(m.Questions) != 1 || m.Questions[0].Class != dnsmessage.ClassINET {
		return false
	}
	if len(m.Answers)+len(m.Authorities) > 0 || len(m.Additionals) > 1 {
		return false
	}
	for _, r := range m.Additionals {
		if _, is := r.Body.(*dnsmessage.OPTResource); !is || r.Header.Name.String() != "." || r.Header.TTL>>16&0xff != 0 {
			return false
		}
	}
	for _, c := range []byte(m.Questions[0].Name.String()) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	again, err := m.Pack()
	return err == nil && bytes.Equal(again[headerSize:], msg[headerSize:])
}

func checkQuestion(t *testing.T, msg []byte, q Question) {
	var m dnsmessage.Message
	if err := m.Unpack(msg); err != nil {
		t.Fatal(err)
	}
	asked := m.Questions[0]
	if name := strings.TrimSuffix(asked.Name.String(), "."); q.Name != strings.ToLower(name) || len(q.Name) > 253 {
		t.Fatalf("name %q, want %q", q.Name, name)
	}
	if q.ID != m.ID || q.Type != asked.Type || q.RecursionDesired != m.RecursionDesired || q.CheckingDisabled != m.CheckingDisabled {
		t.Fatalf("%+v is not %+v", q, m)
	}
	if q.EDNS != (len(m.Additionals) == 1) || q.UDPSize < minUDP || q.UDPSize > MaxUDP {
		t.Fatalf("EDNS %v, size %d: %+v", q.EDNS, q.UDPSize, m)
	}
	if !bytes.HasPrefix(msg[headerSize:], []byte(q.section)) {
		t.Fatalf("section %q is not in %q", q.section, msg)
	}
}

// checkReply writes a reply and reads it with another parser. All that it may hold
// is the question, one address of the kind asked for, and an OPT record.
func checkReply(t *testing.T, q Question, a Answer, limit int) {
	reply := q.Reply(a, limit)
	if limit < headerSize {
		if reply != nil {
			t.Fatalf("%d bytes in %d", len(reply), limit)
		}
		return
	}
	var m dnsmessage.Message
	if err := m.Unpack(reply); err != nil {
		t.Fatalf("%x: %v", reply, err)
	}
	if len(reply) > limit || !m.Response || m.ID != q.ID || m.Authoritative || !m.RecursionAvailable || m.AuthenticData ||
		m.RecursionDesired != q.RecursionDesired || m.CheckingDisabled != q.CheckingDisabled {
		t.Fatalf("limit %d, %d bytes: %+v", limit, len(reply), m)
	}
	if !m.Truncated && (len(m.Questions) == 1) != (q.section != "") || len(m.Authorities) > 0 {
		t.Fatalf("%+v", m)
	}
	if len(m.Questions) == 1 && !bytes.HasPrefix(reply[headerSize:], []byte(q.section)) {
		t.Fatalf("question %q is not in %q", q.section, reply)
	}
	if _, err := Parse(reply); err != error(errAnswer) {
		t.Fatalf("the reply would be answered: %v", err)
	}
	checkRecord(t, q, a, m)
	checkOPT(t, q, a, m)
}

func checkRecord(t *testing.T, q Question, a Answer, m dnsmessage.Message) {
	var got netip.Addr
	for _, r := range m.Answers {
		if got.IsValid() || !strings.EqualFold(r.Header.Name.String(), q.Name+".") || r.Header.TTL != min(a.TTL, 1<<31-1) {
			t.Fatalf("%+v", m)
		}
		switch body := r.Body.(type) {
		case *dnsmessage.AResource:
			got = netip.AddrFrom4(body.A)
		case *dnsmessage.AAAAResource:
			got = netip.AddrFrom16(body.AAAA)
		default:
			t.Fatalf("%+v", r)
		}
	}
	var want netip.Addr
	switch {
	case a.Code != dnsmessage.RCodeSuccess:
	case q.Type == dnsmessage.TypeA && a.V4.Is4():
		want = a.V4
	case q.Type == dnsmessage.TypeAAAA && a.V6.Is6() && !a.V6.Is4In6():
		want = a.V6.WithZone("")
	}
	if got != want && !(m.Truncated && !got.IsValid()) {
		t.Fatalf("address %v, want %v", got, want)
	}
}

func checkOPT(t *testing.T, q Question, a Answer, m dnsmessage.Message) {
	code := m.RCode
	for i, r := range m.Additionals {
		body, is := r.Body.(*dnsmessage.OPTResource)
		if i > 0 || !is || !q.EDNS || len(body.Options) > 1 || r.Header.DNSSECAllowed() != q.dnssecOK {
			t.Fatalf("%+v", m)
		}
		code = r.Header.ExtendedRCode(code)
		wanted := a.EDE != 0 || a.Text != ""
		if len(body.Options) == 1 != wanted && !m.Truncated {
			t.Fatalf("%d options for %+v", len(body.Options), a)
		}
		for _, o := range body.Options {
			text := o.Data[2:]
			if o.Code != 15 || binary.BigEndian.Uint16(o.Data) != a.EDE || len(text) > maxText ||
				bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%+v for %+v", o, a)
			}
		}
	}
	if q.EDNS && len(m.Additionals) == 0 && !m.Truncated {
		t.Fatalf("no OPT in %+v", m)
	}
	if code != a.Code && !(code == dnsmessage.RCodeServerFailure && (a.Code > 0xfff || a.Code > 0xf && len(m.Additionals) == 0)) {
		t.Fatalf("code %d, want %d", code, a.Code)
	}
}

// FuzzReply lets the Handler say anything, in any space.
func FuzzReply(f *testing.F) {
	f.Add(uint8(0), uint16(0), v4.AsSlice(), v6.AsSlice(), uint32(60), uint16(0), "", 512)
	f.Add(uint8(4), uint16(5), []byte(nil), []byte(nil), uint32(0), uint16(15), "rule \x1b[1m 3", 1232)
	f.Add(uint8(3), uint16(0x1000), v6.AsSlice(), v4.AsSlice(), uint32(1<<31), uint16(0xffff), strings.Repeat("ä", 300), 40)
	f.Add(uint8(5), uint16(16), []byte(nil), []byte(nil), uint32(0), uint16(0), "x", 11)
	var questions []Question
	for _, s := range seeds() {
		if q, err := Parse(s); err == nil {
			questions = append(questions, q)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, code uint16, a4, a6 []byte, ttl uint32, ede uint16, text string, limit int) {
		a := Answer{Code: dnsmessage.RCode(code), TTL: ttl, EDE: ede, Text: text}
		a.V4, _ = netip.AddrFromSlice(a4)
		a.V6, _ = netip.AddrFromSlice(a6)
		checkReply(t, questions[int(which)%len(questions)], a, limit)
	})
}

// FuzzStream is a TCP client that sends anything and then closes its half. Each
// whole message up to the first that is dropped is answered, in order, by one
// reply in its frame.
func FuzzStream(f *testing.F) {
	var all []byte
	for _, s := range seeds() {
		one := append(appendWords(nil, uint16(len(s))), s...)
		all = append(all, one...)
		f.Add(one)
	}
	f.Add(all)
	f.Add([]byte{0, 0})
	f.Add(append(appendWords(nil, 0xffff, 7, 0), make([]byte, 0xffff-4)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		asked := 0
		s := &Server{Handler: func(_ context.Context, q Question, via string, from netip.AddrPort) Answer {
			asked++
			return Answer{V4: v4, V6: v6}
		}}
		c := &fakeConn{in: bytes.NewReader(in)}
		s.converse(t.Context(), c, netip.AddrPort{}, time.Second)
		out, valid := c.out.Bytes(), 0
		for {
			msg, rest, ok := nextFrame(in)
			in = rest
			if !ok {
				break
			}
			q, err := Parse(msg)
			var fault *Error
			if errors.As(err, &fault) && fault.Drop {
				break
			}
			a := Answer{V4: v4, V6: v6}
			if err == nil {
				valid++
			} else {
				a = Answer{Code: fault.Code}
			}
			var reply []byte
			if reply, out, ok = nextFrame(out); !ok || !bytes.Equal(reply, q.Reply(a, maxTCP)) {
				t.Fatalf("%x answered by %x", msg, reply)
			}
		}
		if len(out) > 0 || asked != valid {
			t.Fatalf("%d bytes too many, asked %d times for %d", len(out), asked, valid)
		}
	})
}

func nextFrame(b []byte) (msg, rest []byte, ok bool) {
	if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
		return nil, b, false
	}
	end := 2 + int(binary.BigEndian.Uint16(b))
	return b[2:end], b[end:], true
}

// fakeConn is a connection in memory.
type fakeConn struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (c *fakeConn) Read(b []byte) (int, error)       { return c.in.Read(b) }
func (c *fakeConn) Write(b []byte) (int, error)      { return c.out.Write(b) }
func (c *fakeConn) SetReadDeadline(time.Time) error  { return nil }
func (c *fakeConn) SetWriteDeadline(time.Time) error { return nil }
