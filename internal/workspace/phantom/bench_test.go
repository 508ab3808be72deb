package phantom

import (
	"strings"
	"testing"
)

// hostile are files of the largest size, each to make one part of the reading slow.
func hostile() map[string]string {
	fill := func(s string) string { return strings.Repeat(s, maxFile/len(s)) }
	return map[string]string{
		".env quoted": fill("A=\"b c1d2e3\"\n"), ".env values": fill("A=q1\n"), ".env open": fill("A=\"\n"), ".env escaped": fill("A=\"\\\n"), ".env continued": fill("A=b1\\\n"),
		".env one": "A=" + fill("x1")[2:], ".env comments": fill("# a b1 c\n"), ".env url": "A=a://" + fill("b1/")[8:], ".env pairs": "A=" + fill("a=b1;")[2:],
		"s.yml flow": fill("a: [b,\n"), "s.yml keys": fill("a1: b2c3\n"), "s.yml quotes": fill("a: '\n"), "s.yml deep": "a: " + fill("[")[3:], "s.yml block": "a: |\n" + fill(" b1c2\n")[5:],
		"s.json deep": fill("[")[:9000] + fill("]")[:9000], "s.json list": "[" + fill("\"a1b2\",")[8:] + "1]", "s.json nested": "{\"a\":" + fill("{\"a\":")[:40000] + "1" + strings.Repeat("}", 8001),
		"s.pem heads": fill("-----BEGIN A-----\n"), "s.pem keys": fill("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----\n"), "s.key lines": fill("a1 b2\n"),
		"s.tfvars lists": fill("a = [\n"), "s.tfvars here": fill("a = <<E\n"), "s.tfvars flow": "a = " + fill("[{a=b1},")[4:], ".netrc": fill("password a1\n"), ".pgpass": fill("a:1:b:c:d1\n"),
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, data := range hostile() {
		b.Run(name, func(b *testing.B) {
			rel, _, _ := strings.Cut(name, " ")
			for b.Loop() {
				if _, _, err := Phantom(rel, []byte(data), seed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPhantom is an ordinary file of settings.
func BenchmarkPhantom(b *testing.B) {
	data, _ := corpus[0].clean()
	for b.Loop() {
		if _, _, err := Phantom(".env", []byte(data), seed); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRSA is the first key of a session.
func BenchmarkRSA(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		if _, err := makeRSA(stream(seed, string(rune(i)))); err != nil {
			b.Fatal(err)
		}
	}
}
