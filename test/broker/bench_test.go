package broker

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstByte says what the broker adds to the first byte of a streamed answer:
// the same client, the same server, with the broker and without, turn about. Run it by
//
//	go test ./test/broker -run '^$' -bench FirstByte -benchtime 1x
func BenchmarkFirstByte(b *testing.B) {
	const rounds, turns = 200, 5
	prompt := `{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 20<<10) + `"}]}`
	for name, body := range map[string]string{"short": hello, "100KB": prompt} {
		b.Run(name, func(b *testing.B) {
			s := begin(b)
			_, at := s.local(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for range 3 {
					io.WriteString(w, "data: x\n\n")
					w.(http.Flusher).Flush()
				}
			})
			s.env = append(s.env, "ANTHROPIC_API_KEY="+realKey, "ANTHROPIC_BASE_URL="+at)
			measure := func(r result) (out []int64) {
				if err := json.Unmarshal([]byte(r.Stdout), &out); err != nil {
					b.Fatalf("%v\n%s", err, r.show())
				}
				return out[10:] // without the first ones: connections are made
			}
			for b.Loop() {
				var with, without []int64
				for range turns {
					without = append(without, measure(s.host(s.client, "latency", itoa(rounds), body))...)
					with = append(with, measure(s.claude(s.client, "latency", itoa(rounds), body))...)
				}
				for name, part := range map[string]float64{"p50": 0.5, "p90": 0.9} {
					b.ReportMetric(micros(without, part), "direct-"+name+"-µs")
					b.ReportMetric(micros(with, part), "broker-"+name+"-µs")
					b.ReportMetric(micros(with, part)-micros(without, part), "added-"+name+"-µs")
				}
			}
		})
	}
}

func micros(all []int64, part float64) float64 {
	slices.Sort(all)
	return float64(all[int(float64(len(all)-1)*part)]) / float64(time.Microsecond)
}
