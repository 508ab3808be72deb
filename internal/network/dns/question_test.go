package dns

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/net/dns/dnsmessage"
)

// head is a header with the given flags and counts.
func head(id, flags uint16, counts ...uint16) []byte {
	return appendWords(nil, append([]uint16{id, flags}, counts...)...)
}

// labels is a name as it is sent.
func labels(name string) []byte {
	var b []byte
	for label := range strings.SplitSeq(name, ".") {
		if label != "" {
			b = append(append(b, byte(len(label))), label...)
		}
	}
	return append(b, 0)
}

// section is a question of class IN.
func section(name string, t dnsmessage.Type) []byte {
	return appendWords(labels(name), uint16(t), 1)
}

// opt is an OPT record; lead is its extended code and version.
func opt(size, lead, flags uint16, options ...byte) []byte {
	b := appendWords([]byte{0}, 41, size, lead, flags, uint16(len(options)))
	return append(b, options...)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// plain and edns are the queries that clients send.
func plain(id uint16, name string, t dnsmessage.Type) []byte {
	return join(head(id, bitRD, 1, 0, 0, 0), section(name, t))
}

func edns(id uint16, name string, t dnsmessage.Type, size uint16) []byte {
	return join(head(id, bitRD, 1, 0, 0, 1), section(name, t), opt(size, 0, 0))
}

// name253 is the longest name there is: 255 bytes as sent.
var name253 = strings.Repeat(strings.Repeat("a", 63)+".", 3) + strings.Repeat("b", 61)

// Parse is parse with a plain error.
func Parse(msg []byte) (Question, error) {
	q, fault := parse(msg)
	if fault != nil {
		return q, fault
	}
	return q, nil
}

func TestParse(t *testing.T) {
	cookie := []byte{0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, tt := range []struct {
		what string
		msg  []byte
		want Question
	}{
		{"plain", plain(7, "a.test", dnsmessage.TypeA),
			Question{ID: 7, Name: "a.test", Type: 1, UDPSize: 512, RecursionDesired: true}},
		{"no recursion, checking disabled", join(head(7, bitCD, 1, 0, 0, 0), section("a.test", 28)),
			Question{ID: 7, Name: "a.test", Type: 28, UDPSize: 512, CheckingDisabled: true}},
		{"bits that mean nothing", join(head(7, 0x06ef, 1, 0, 0, 0), section("a.test", 28)),
			Question{ID: 7, Name: "a.test", Type: 28, UDPSize: 512}},
		{"random case", plain(7, "wWw.ExAmPlE.tEsT", 1),
			Question{ID: 7, Name: "www.example.test", Type: 1, UDPSize: 512, RecursionDesired: true}},
		{"root", plain(7, "", dnsmessage.TypeNS),
			Question{ID: 7, Name: "", Type: 2, UDPSize: 512, RecursionDesired: true}},
		{"odd but printable", plain(7, `_dns.*.\@[~.!`, 65),
			Question{ID: 7, Name: `_dns.*.\@[~.!`, Type: 65, UDPSize: 512, RecursionDesired: true}},
		{"longest name", plain(7, name253, 1),
			Question{ID: 7, Name: name253, Type: 1, UDPSize: 512, RecursionDesired: true}},
		{"EDNS", edns(7, "a.test", 1, 1000),
			Question{ID: 7, Name: "a.test", Type: 1, EDNS: true, UDPSize: 1000, RecursionDesired: true}},
		{"EDNS, size too small", edns(7, "a.test", 1, 0),
			Question{ID: 7, Name: "a.test", Type: 1, EDNS: true, UDPSize: 512, RecursionDesired: true}},
		{"EDNS, size too large", edns(7, "a.test", 1, 65535),
			Question{ID: 7, Name: "a.test", Type: 1, EDNS: true, UDPSize: 1232, RecursionDesired: true}},
		{"EDNS options", join(head(7, 0, 1, 0, 0, 1), section("a.test", 1), opt(512, 0, 0, append(cookie, 0, 12, 0, 0)...)),
			Question{ID: 7, Name: "a.test", Type: 1, EDNS: true, UDPSize: 512}},
		{"EDNS extended code and flags", join(head(7, 0, 1, 0, 0, 1), section("a.test", 1), opt(512, 0xff00, 0x7fff)),
			Question{ID: 7, Name: "a.test", Type: 1, EDNS: true, UDPSize: 512}},
		{"as long as may be", join(head(7, 0, 1, 0, 0, 1), section("a.test", 1), opt(512, 0, 0, padding(MaxQuery-12-12-11)...)),
			Question{ID: 7, Name: "a.test", Type: 1, EDNS: true, UDPSize: 512}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			got, err := Parse(tt.msg)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Question{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// padding is an EDNS option of n bytes in all.
func padding(n int) []byte {
	return append(appendWords(nil, 12, uint16(n-4)), make([]byte, n-4)...)
}

func TestParseRefuses(t *testing.T) {
	ok := section("a.test", 1)
	one := head(7, bitRD, 1, 0, 0, 0)
	two := head(7, bitRD, 1, 0, 0, 1)
	tsig := join(labels("key.test"), appendWords(nil, 250, 255, 0, 0, 0))
	for _, tt := range []struct {
		what string
		msg  []byte
		want *Error
	}{
		{"nothing", nil, errShort},
		{"half a header", one[:11], errShort},
		{"an answer", join(head(7, bitQR|bitRD, 1, 0, 0, 0), ok), errAnswer},
		{"an answer that is malformed", head(7, bitQR, 9, 9, 9, 9), errAnswer},
		{"header alone", one, errCut},
		{"too long", join(two, ok, opt(512, 0, 0, padding(MaxQuery)...)), errLong},
		{"inverse query", join(head(7, 1<<11, 1, 0, 0, 0), ok), errOpcode},
		{"status", head(7, 2<<11, 0, 0, 0, 0), errOpcode},
		{"notify", join(head(7, 4<<11, 1, 1, 0, 0), ok), errOpcode},
		{"update", join(head(7, 5<<11, 1, 0, 1, 0), ok), errOpcode},
		{"opcode 15", join(head(7, 15<<11, 1, 0, 0, 0), ok), errOpcode},
		{"no question", head(7, 0, 0, 0, 0, 0), errQuestions},
		{"no question but EDNS", join(head(7, 0, 0, 0, 0, 1), opt(512, 0, 0)), errQuestions},
		{"two questions", join(head(7, 0, 2, 0, 0, 0), ok, ok), errQuestions},
		{"answers", join(head(7, 0, 1, 1, 0, 0), ok), errRecords},
		{"authorities", join(head(7, 0, 1, 0, 1, 0), ok), errRecords},
		{"two OPT", join(head(7, 0, 1, 0, 0, 2), ok, opt(512, 0, 0), opt(512, 0, 0)), errAdditional},
		{"two OPT, one counted", join(two, ok, opt(512, 0, 0), opt(512, 0, 0)), errOPTSize},
		{"TSIG", join(two, ok, tsig), errNotOPT},
		{"an A in the additional section", join(two, ok, []byte{0}, appendWords(nil, 1, 1, 0, 0, 4, 0x7f00, 1)), errNotOPT},
		{"OPT with a name", join(two, ok, []byte{1, 'x'}, opt(512, 0, 0)), errNotOPT},
		{"OPT with a label for its root", join(two, ok, []byte{1}, opt(512, 0, 0)[1:]), errNotOPT},
		{"OPT by pointer to a zero", join(two, ok, []byte{0xc0, 19}, opt(512, 0, 0)[1:]), errNotOPT},
		{"OPT missing", join(two, ok), errOPTSize},
		{"OPT cut", join(two, ok, opt(512, 0, 0)[:10]), errOPTSize},
		{"OPT longer than it says", join(two, ok, opt(512, 0, 0), []byte{0}), errOPTSize},
		{"OPT shorter than it says", join(two, ok, opt(512, 0, 0, padding(8)...)[:15]), errOPTSize},
		{"half an option", join(two, ok, opt(512, 0, 0, 0, 12, 0)), errOption},
		{"option beyond its record", join(two, ok, opt(512, 0, 0, 0, 12, 0, 5, 1, 2, 3, 4)), errOption},
		{"EDNS version 1", join(two, ok, opt(512, 1, 0)), errVersion},
		{"EDNS version 255, odd options", join(two, ok, opt(512, 255, 0, 1)), errVersion},
		{"OPT not counted", join(one, ok, opt(512, 0, 0)), errTrailing},
		{"one byte more", join(one, ok, []byte{0}), errTrailing},
		{"class CH", join(one, appendWords(labels("version.bind"), 16, 3)), errClass},
		{"class ANY", join(one, appendWords(labels("a.test"), 1, 255)), errClass},
		{"class 0", join(one, appendWords(labels("a.test"), 1, 0)), errClass},
		{"name without an end", join(one, []byte("\x01a\x04test")), errCut},
		{"label cut", join(one, []byte("\x01a\x04tes")), errCut},
		{"no type", join(one, labels("a.test")), errCut},
		{"class cut", join(one, ok[:len(ok)-1]), errCut},
		{"pointer to itself", join(one, appendWords(nil, 0xc00c, 1, 1)), errLabel},
		{"pointer after a label", join(one, []byte("\x01a\xc0\x0c\x00\x01\x00\x01")), errLabel},
		{"pointer to the header", join(one, []byte("\xc0\x00\x00\x01\x00\x01")), errLabel},
		{"label of 64", join(one, []byte{64}, make([]byte, 64), []byte{0, 0, 1, 0, 1}), errLabel},
		{"label type 0x80", join(one, []byte{0x80, 0, 0, 1, 0, 1}), errLabel},
		{"name of 256", join(one, section(name253+"b", 1)), errName},
		{"name of 257", join(one, section(name253[:252]+".bb", 1)), errName},
		{"a hundred short labels and more", join(one, section(strings.Repeat("a.", 200), 1)), errName},
		{"dot within a label", join(one, []byte("\x06a.test\x00\x00\x01\x00\x01")), errByte},
		{"space", plain(7, "a b.test", 1), errByte},
		{"zero byte", plain(7, "a\x00.test", 1), errByte},
		{"control", plain(7, "a\x1b.test", 1), errByte},
		{"delete", plain(7, "a\x7f.test", 1), errByte},
		{"not ASCII", plain(7, "ä.test", 1), errByte},
	} {
		t.Run(tt.what, func(t *testing.T) {
			q, err := Parse(tt.msg)
			var got *Error
			if !errors.As(err, &got) || got != tt.want {
				t.Fatalf("Parse = %v, want %v", err, tt.want)
			}
			checkRefusal(t, tt.msg, q, got)
		})
	}
}

// checkRefusal looks at the reply to a message that was refused and not dropped:
// its own number and opcode, the code, and never more bytes than were sent.
func checkRefusal(t *testing.T, msg []byte, q Question, fault *Error) {
	t.Helper()
	if fault.Drop {
		if q != (Question{}) {
			t.Errorf("dropped, but %+v", q)
		}
		return
	}
	reply := q.Reply(Answer{Code: fault.Code}, minUDP)
	if len(reply) > len(msg) {
		t.Errorf("%d bytes answered by %d", len(msg), len(reply))
	}
	var m dnsmessage.Message
	if err := m.Unpack(reply); err != nil {
		t.Fatalf("reply %x: %v", reply, err)
	}
	code := m.RCode
	for _, r := range m.Additionals {
		code = r.Header.ExtendedRCode(code)
	}
	if !m.Response || m.ID != 7 || code != fault.Code || len(m.Answers)+len(m.Authorities) > 0 {
		t.Errorf("reply is %+v", m)
	}
	if reply[2]&0x78 != msg[2]&0x78 {
		t.Errorf("opcode of %x is not that of %x", reply[2], msg[2])
	}
	if fault == errVersion && (len(m.Additionals) != 1 || m.Additionals[0].Header.TTL>>16&0xff != 0) {
		t.Errorf("no OPT of version 0 in %+v", m)
	}
}
