package world

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkFreshTLS compares a fresh TLS connection with one request, straight and
// through the gate, in turns: the name is looked up once, no session is resumed. Run it
// with -benchtime 10x or so; it tells medians.
func BenchmarkFreshTLS(b *testing.B) {
	w := New(b)
	curl := []string{"curl", "-sS", "-4", "--http1.1", "--cacert", "ca.pem", "--no-sessionid", "-H", "Connection: close",
		"-o", "/dev/null", "-w", `%{http_code} %{time_total} %{num_connects}\n`, "https://allowed.test/[1-101]"}
	var direct, gate, ratio []float64
	for b.Loop() {
		d := medianTime(b, w.Bare(curl...))
		g := medianTime(b, w.Run(append([]string{"--allow-host", Allowed, "--"}, curl...)...))
		direct, gate, ratio = append(direct, d), append(gate, g), append(ratio, g/d)
	}
	b.ReportMetric(middle(direct)*1e6, "direct-µs")
	b.ReportMetric(middle(gate)*1e6, "gate-µs")
	b.ReportMetric(middle(ratio), "gate/direct")
}

// medianTime is the middle of what curl took for its requests.
func medianTime(b *testing.B, r Result) float64 {
	b.Helper()
	var all []float64
	for line := range strings.Lines(r.Stdout) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] != "200" || f[2] != "1" {
			b.Fatalf("not one connection for one request: %q %s", line, r.Stderr)
		}
		seconds, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, seconds)
	}
	if len(all) != 101 {
		b.Fatalf("%d answers: %s", len(all), r.Stderr)
	}
	return middle(all)
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
