package dns

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

var (
	v4 = netip.MustParseAddr("198.18.0.7")
	v6 = netip.MustParseAddr("fd00:0:0:1::7")
)

// raw is an address as bytes.
func raw(a netip.Addr) []byte { return a.AsSlice() }

// TestReply spells out whole replies, byte by byte.
func TestReply(t *testing.T) {
	both := Answer{V4: v4, V6: v6, TTL: 60}
	name := "wWw.A.test"
	recordA := join([]byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4}, raw(v4))
	recordAAAA := join([]byte{0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16}, raw(v6))
	refused := Answer{Code: dnsmessage.RCodeRefused, V4: v4, V6: v6, EDE: 18, Text: "rule 3 denies it"}
	ede := func(code uint16, text string) []byte {
		return append(appendWords(nil, 15, uint16(2+len(text)), code), text...)
	}
	for _, tt := range []struct {
		what  string
		query []byte
		a     Answer
		want  []byte
	}{
		{"A", plain(9, name, 1), both,
			join(head(9, 0x8180, 1, 1, 0, 0), section(name, 1), recordA)},
		{"AAAA", plain(9, name, 28), both,
			join(head(9, 0x8180, 1, 1, 0, 0), section(name, 28), recordAAAA)},
		{"A with EDNS", edns(9, name, 1, 4096), both,
			join(head(9, 0x8180, 1, 1, 0, 1), section(name, 1), recordA, opt(1232, 0, 0))},
		{"flags", join(head(9, bitCD, 1, 0, 0, 1), section(name, 1), opt(512, 0, 0xffff)), both,
			join(head(9, 0x8090, 1, 1, 0, 1), section(name, 1), recordA, opt(1232, 0, bitDO))},
		{"bits that are not repeated", join(head(9, 0x07ef, 1, 0, 0, 0), section(name, 1)), both,
			join(head(9, 0x8180, 1, 1, 0, 0), section(name, 1), recordA)},
		{"no such address", plain(9, name, 28), Answer{V4: v4},
			join(head(9, 0x8180, 1, 0, 0, 0), section(name, 28))},
		{"addresses of the wrong kind", plain(9, name, 1), Answer{V4: v6, V6: v4},
			join(head(9, 0x8180, 1, 0, 0, 0), section(name, 1))},
		{"IPv4 in disguise", plain(9, name, 28), Answer{V6: netip.MustParseAddr("::ffff:198.18.0.7")},
			join(head(9, 0x8180, 1, 0, 0, 0), section(name, 28))},
		{"a zone is not sent", plain(9, name, 28), Answer{V6: v6.WithZone("lo"), TTL: 60},
			join(head(9, 0x8180, 1, 1, 0, 0), section(name, 28), recordAAAA)},
		{"TTL is 31 bits", plain(9, name, 1), Answer{V4: v4, TTL: 1<<32 - 1},
			join(head(9, 0x8180, 1, 1, 0, 0), section(name, 1), []byte{0xc0, 12, 0, 1, 0, 1, 0x7f, 255, 255, 255, 0, 4}, raw(v4))},
		{"root", plain(9, "", 1), both,
			join(head(9, 0x8180, 1, 1, 0, 0), section("", 1), recordA)},
		{"refused", plain(9, name, 1), refused,
			join(head(9, 0x8185, 1, 0, 0, 0), section(name, 1))},
		{"refused with EDNS", edns(9, name, 1, 512), refused,
			join(head(9, 0x8185, 1, 0, 0, 1), section(name, 1), opt(1232, 0, 0, ede(18, "rule 3 denies it")...))},
		{"NXDOMAIN", plain(9, name, 1), Answer{Code: dnsmessage.RCodeNameError, V4: v4},
			join(head(9, 0x8183, 1, 0, 0, 0), section(name, 1))},
		{"EDE without text", edns(9, name, 1, 512), Answer{Code: dnsmessage.RCodeRefused, EDE: 15},
			join(head(9, 0x8185, 1, 0, 0, 1), section(name, 1), opt(1232, 0, 0, ede(15, "")...))},
		{"text without EDE", edns(9, name, 1, 512), Answer{V4: v4, TTL: 60, Text: "so be it"},
			join(head(9, 0x8180, 1, 1, 0, 1), section(name, 1), recordA, opt(1232, 0, 0, ede(0, "so be it")...))},
		{"text made printable", edns(9, name, 1, 512), Answer{EDE: 1, Text: "a\x1b[2Jä\xff\n\x00."},
			join(head(9, 0x8180, 1, 0, 0, 1), section(name, 1), opt(1232, 0, 0, ede(1, "a?[2J????.")...))},
		{"text cut", edns(9, name, 1, 512), Answer{EDE: 1, Text: strings.Repeat("x", 500)},
			join(head(9, 0x8180, 1, 0, 0, 1), section(name, 1), opt(1232, 0, 0, ede(1, strings.Repeat("x", 200))...))},
		{"extended code", edns(9, name, 1, 512), Answer{Code: 0x123},
			join(head(9, 0x8183, 1, 0, 0, 1), section(name, 1), opt(1232, 0x1200, 0))},
		{"extended code without EDNS", plain(9, name, 1), Answer{Code: 16},
			join(head(9, 0x8182, 1, 0, 0, 0), section(name, 1))},
		{"code that is none", edns(9, name, 1, 512), Answer{Code: 0x1000, V4: v4},
			join(head(9, 0x8182, 1, 0, 0, 1), section(name, 1), opt(1232, 0, 0))},
	} {
		t.Run(tt.what, func(t *testing.T) {
			q, err := Parse(tt.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := q.Reply(tt.a, 512); !bytes.Equal(got, tt.want) {
				t.Errorf("got\n%x, want\n%x", got, tt.want)
			}
		})
	}
}

// TestReplyHasAddressesOnly: whatever the type, no other record is written.
func TestReplyHasAddressesOnly(t *testing.T) {
	for n := range 1 << 16 {
		kind := dnsmessage.Type(n)
		if kind == dnsmessage.TypeA || kind == dnsmessage.TypeAAAA {
			continue
		}
		q, err := Parse(plain(9, "a.test", kind))
		if err != nil {
			t.Fatal(err)
		}
		want := join(head(9, 0x8180, 1, 0, 0, 0), section("a.test", kind))
		if got := q.Reply(Answer{V4: v4, V6: v6, TTL: 60}, 512); !bytes.Equal(got, want) {
			t.Fatalf("type %d: %x", n, got)
		}
	}
}

// TestReplyCut takes a reply away byte by byte: what goes, goes whole.
func TestReplyCut(t *testing.T) {
	q, err := Parse(edns(9, "a.test", 28, 512))
	if err != nil {
		t.Fatal(err)
	}
	const question, record, option = 12, 28, 6 + 5
	const whole = headerSize + question + record + optSize + option
	for limit := -1; limit <= whole+1; limit++ {
		got := q.Reply(Answer{V6: v6, TTL: 60, EDE: 15, Text: "words"}, limit)
		var want int
		switch {
		case limit >= whole:
			want = whole
		case limit >= whole-option:
			want = whole - option
		case limit >= headerSize+question+optSize:
			want = headerSize + question + optSize
		case limit >= headerSize+question:
			want = headerSize + question
		case limit >= headerSize:
			want = headerSize
		}
		if len(got) != want {
			t.Fatalf("limit %d: %d bytes, want %d", limit, len(got), want)
		}
		if want == 0 {
			continue
		}
		var m dnsmessage.Message
		if err := m.Unpack(got); err != nil {
			t.Fatalf("limit %d: %v", limit, err)
		}
		if m.Truncated != (want < whole) {
			t.Errorf("limit %d: TC is %v", limit, m.Truncated)
		}
	}
}

// TestLongestReplies: the largest that a Handler can make of any question.
func TestLongestReplies(t *testing.T) {
	words := strings.Repeat("x", 300)
	for _, tt := range []struct {
		what string
		kind dnsmessage.Type
		a    Answer
		size uint16
		cut  bool
	}{
		{"a refusal never needs TCP", 28, Answer{Code: dnsmessage.RCodeRefused, EDE: 15, Text: words}, 512, false},
		{"an A never needs TCP", 1, Answer{V4: v4, EDE: 15, Text: words}, 512, false},
		{"an AAAA with words does where 512 is all", 28, Answer{V6: v6, EDE: 15, Text: words}, 512, true},
		{"else not", 28, Answer{V6: v6, EDE: 15, Text: words}, 1232, false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			q, err := Parse(edns(9, name253, tt.kind, tt.size))
			if err != nil {
				t.Fatal(err)
			}
			reply := q.Reply(tt.a, q.UDPSize)
			if cut := reply[2]&0x02 != 0; cut != tt.cut {
				t.Errorf("TC is %v in %d bytes", cut, len(reply))
			}
		})
	}
}
