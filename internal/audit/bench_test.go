package audit

import (
	"context"
	"testing"
)

// BenchmarkAudit is what a person waits for on a small machine with everything wrong.
func BenchmarkAudit(b *testing.B) {
	f := newFixture(b)
	for _, p := range plants {
		p.do(f)
	}
	for b.Loop() {
		Audit(context.Background(), f.World)
	}
}

// BenchmarkMeter is what a launch pays.
func BenchmarkMeter(b *testing.B) {
	f := newFixture(b)
	for b.Loop() {
		OwnNames(f.World)
		Meter(Exposure{Network: "dev", Workspaces: []string{"/p"}, Model: true})
	}
}
