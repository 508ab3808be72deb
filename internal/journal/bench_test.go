package journal

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var typical = Record{Event: Decision, Conn: 7, Via: "tcp", Protocol: "tls", Name: "registry.example.test", Addr: "192.0.2.1", Port: 443,
	Verdict: Allow, Rule: "*.example.test", Source: "dev", Reason: "the group web allows it", PID: 4242, Command: "node"}

// startOver empties the journal when it is nearly full.
func startOver(b *testing.B, w *Writer) {
	if w.size < maxPart/2 {
		return
	}
	if err := unix.Ftruncate(w.file, 0); err != nil {
		b.Fatal(err)
	}
	w.size, w.total = 0, 0
}

func BenchmarkWrite(b *testing.B) {
	hostile := typical
	hostile.Name, hostile.Command = strings.Repeat("\x1b\xff", 200), strings.Repeat("\u202e", 200)
	for name, r := range map[string]Record{"typical": typical, "hostile": hostile} {
		b.Run(name, func(b *testing.B) {
			w, _ := create(b, session)
			w.now = time.Now
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(r); err != nil {
					b.Fatal(err)
				}
				startOver(b, w)
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	r := typical
	r.V, r.Seq, r.Time, r.Session, r.Kind = Version, 1, noon, session, Net
	buf := make([]byte, 0, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		buf = r.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkNext(b *testing.B) {
	w, dir := create(b, session)
	const records = 1000
	for range records {
		write(b, w, typical)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got, bad := all(b, dir, session); len(got) != records || len(bad) != 0 {
			b.Fatal(len(got), bad)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
}

func BenchmarkTally(b *testing.B) {
	var tally Tally
	records := make([]Record, maxHosts)
	for i := range records {
		records[i] = end(fmt.Sprint(i, ".test"), 1, 1)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tally.Add(records[i%len(records)])
	}
}

// BenchmarkSession: what a journal costs a session before it runs, and at its end.
func BenchmarkSession(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "journal")
	write(b, Create(dir, "zzzzzzzzzz"), typical) // there is a key
	var began, ended time.Duration
	id := 0
	for b.Loop() {
		id++
		w := Create(dir, fmt.Sprintf("%010d", id))
		at := time.Now()
		for range 8 {
			write(b, w, typical)
		}
		began += time.Since(at)
		at = time.Now()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		ended += time.Since(at)
	}
	b.ReportMetric(float64(began.Microseconds())/float64(id), "µs/begin")
	b.ReportMetric(float64(ended.Microseconds())/float64(id), "µs/end")
}

// BenchmarkVerify: the time that verify takes a record.
func BenchmarkVerify(b *testing.B) {
	w, dir := create(b, session)
	const records = 1000
	for range records {
		write(b, w, typical)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r := verify(b, dir, nil); r.Bad() {
			b.Fatal(r)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*records), "ns/record")
}

// BenchmarkLast: the last denial of a long journal.
func BenchmarkLast(b *testing.B) {
	w, dir := create(b, session)
	for range 50_000 {
		write(b, w, typical)
	}
	for b.Loop() {
		if _, err := Last(dir, session, func(Record) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}
