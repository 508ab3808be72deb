package dns

import (
	"net"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func BenchmarkParseReply(b *testing.B) {
	for _, bb := range []struct {
		name  string
		query []byte
		a     Answer
	}{
		{"plain", plain(1, "registry.packages.test", 1), Answer{V4: v4, TTL: 60}},
		{"edns", edns(1, "registry.packages.test", 28, 1232), Answer{V6: v6, TTL: 60}},
		{"denied", edns(1, "registry.packages.test", 1, 1232),
			Answer{Code: dnsmessage.RCodeRefused, EDE: 15, Text: "no rule allows registry.packages.test; ask the user for it"}},
		{"longest", edns(1, name253, 28, 1232), Answer{V6: v6, EDE: 15, Text: name253}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q, err := Parse(bb.query)
				if err != nil || q.Reply(bb.a, q.UDPSize) == nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("malformed", func(b *testing.B) {
		b.ReportAllocs()
		query := plain(1, "a\x00b.test", 1)
		for b.Loop() {
			if q, err := Parse(query); err == nil || q.Reply(Answer{Code: 1}, 512) == nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRoundTrip is one client that asks and waits, over loopback.
func BenchmarkRoundTrip(b *testing.B) {
	u, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- (&Server{Handler: always(Answer{V4: v4})}).ServeUDP(u) }()
	defer func() { u.Close(); <-done }()
	c, err := net.Dial("udp", u.LocalAddr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	query, buf := plain(1, "registry.packages.test", 1), make([]byte, 512)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(query); err != nil {
			b.Fatal(err)
		}
		if _, err := c.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
