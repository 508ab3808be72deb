package h2c_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/network/h2c"
)

func BenchmarkCopy(b *testing.B) {
	e := newEncoder()
	e.block(get("allowed.test", "user-agent: curl/7.88.1", "accept: */*")...)
	var requests strings.Builder
	requests.WriteString(hello + frame(headers, endHeaders|endStream, 1, block(get("allowed.test", "user-agent: curl/7.88.1", "accept: */*")...)))
	const count = 1000
	for id := range uint32(count - 1) {
		requests.WriteString(frame(headers, endHeaders|endStream, 2*id+3, e.block(get("allowed.test", "user-agent: curl/7.88.1", "accept: */*")...)))
	}
	upload := hello + frame(headers, endHeaders, 1, block(get("allowed.test")...)) + strings.Repeat(frame(data, 0, 1, strings.Repeat("x", 16384)), 1024)
	pass := func(_, _, _, _ string) error { return nil }
	b.Run("requests", func(b *testing.B) {
		in := []byte(requests.String())
		for b.Loop() {
			if _, err := h2c.Copy(io.Discard, bytes.NewReader(in), pass); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/request")
	})
	b.Run("upload", func(b *testing.B) {
		in := []byte(upload)
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			if _, err := h2c.Copy(io.Discard, bytes.NewReader(in), pass); err != nil {
				b.Fatal(err)
			}
		}
	})
}
