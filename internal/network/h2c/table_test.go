package h2c_test

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/network/h2c"
)

// TestTables: a client makes full use of the table and changes its size as it likes.
// Origins with tables of any size see the requests that were judged, or stop.
func TestTables(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := newEncoder()
		e.enc.SetMaxDynamicTableSizeLimit(64 << 10)
		in := hello
		for id := range rapid.IntRange(1, 25).Draw(rt, "requests") {
			if rapid.IntRange(0, 3).Draw(rt, "resize") == 0 {
				e.enc.SetMaxDynamicTableSize(rapid.Uint32Range(0, 64<<10).Draw(rt, "size"))
			}
			fields := get(rapid.SampledFrom([]string{"allowed.test", "other.test", "third.test"}).Draw(rt, "authority"))
			for range rapid.IntRange(0, 6).Draw(rt, "fields") {
				name := rapid.SampledFrom([]string{"x", "y", "x-host"}).Draw(rt, "name")
				value := rapid.SampledFrom([]string{"other.test", "denied.test", "z"}).Draw(rt, "value")
				// Some entries are larger than small tables: they empty them.
				fields = append(fields, name+": "+strings.Repeat(value, rapid.SampledFrom([]int{1, 1, 1, 10, 400}).Draw(rt, "times")))
			}
			b := e.block(fields...)
			half := len(b) / 2
			in += frame(headers, endStream, uint32(2*id+1), b[:half]) + frame(continuation, endHeaders, uint32(2*id+1), b[half:])
		}
		w := &witness{t: t}
		if _, err := h2c.Copy(w, strings.NewReader(in), w.judge); err != nil {
			rt.Fatal(err)
		}
		for _, size := range []uint32{0, 64, 200, 4096, 64 << 10, 1 << 20} {
			seen, err := decode(w.out.Bytes(), size)
			if err == nil && len(seen) != len(w.allowed) || len(seen) > len(w.allowed) || !slices.Equal(seen, w.allowed[:len(seen)]) {
				rt.Fatalf("with a table of %d the origin sees %q, allowed are %q", size, seen, w.allowed)
			}
			if err != nil && err != http2.ConnectionError(http2.ErrCodeCompression) || err != nil && size == 4096 {
				rt.Fatalf("with a table of %d: %v", size, err)
			}
		}
	})
}
