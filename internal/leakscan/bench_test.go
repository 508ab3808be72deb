package leakscan_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/leakscan"
)

// random is n characters of an alphabet, always the same.
func random(seed byte, n int, alphabet string) string {
	r := rand.New(rand.NewChaCha8([32]byte{seed}))
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

const (
	letters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	alphabet = letters + "+/"
)

// six is what a session has of decoys.
func six() []leakscan.Named {
	return []leakscan.Named{
		{Name: "key file", Secret: random(1, 42, alphabet)},
		{Name: "cloud secret", Secret: random(2, 40, alphabet)},
		{Name: "cloud id", Secret: "AKIA" + random(3, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")},
		{Name: "forge token", Secret: "ghp_" + random(4, 36, letters)},
		{Name: "password", Secret: random(5, 32, letters)},
		{Name: "variable", Secret: random(6, 40, letters)},
	}
}

func set(tb testing.TB, secrets ...leakscan.Named) *leakscan.Set {
	tb.Helper()
	s, err := leakscan.New(secrets...)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// chunks are 64 KiB each of what goes over connections.
func chunks() map[string][]byte {
	const size = 64 << 10
	noise := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{9}).Read(noise)
	var numbers bytes.Buffer
	for _, b := range noise {
		fmt.Fprintf(&numbers, "%d, ", b)
	}
	prose := strings.Repeat(`{"role":"user","content":"Please read the file and say what it does.\n"},`, size/64)
	return map[string][]byte{
		"noise":   noise,
		"json":    []byte(prose[:size]),
		"base64":  []byte(base64.StdEncoding.EncodeToString(noise)[:size]),
		"hex":     []byte(hex.EncodeToString(noise)[:size]),
		"numbers": numbers.Bytes()[:size],
	}
}

func BenchmarkScan(b *testing.B) {
	s := set(b, six()...)
	for name, chunk := range chunks() {
		b.Run(name, func(b *testing.B) {
			scanner := s.Scanner()
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, found := scanner.Scan(chunk); found {
					b.Fatal("found")
				}
			}
		})
	}
}

// BenchmarkScanSmall is for the messages of a protocol.
func BenchmarkScanSmall(b *testing.B) {
	scanner := set(b, six()...).Scanner()
	chunk := chunks()["json"][:200]
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		scanner.Scan(chunk)
	}
}

func BenchmarkFindName(b *testing.B) {
	s := set(b, six()...)
	for b.Loop() {
		s.FindName("static.assets.registry.example.test")
	}
}

// BenchmarkNew is what the first scanner of a session costs.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		set(b, six()...).Scanner()
	}
}

func BenchmarkRedact(b *testing.B) {
	s := set(b, six()[:2]...)
	for name, chunk := range chunks() {
		b.Run(name, func(b *testing.B) {
			w := s.Writer(io.Discard)
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Write(chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRedactEvent is one event of a stream of a model's answer.
func BenchmarkRedactEvent(b *testing.B) {
	w := set(b, six()[:2]...).Writer(io.Discard)
	event := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n")
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(event); err != nil {
			b.Fatal(err)
		}
	}
}
