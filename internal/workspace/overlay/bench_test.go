package overlay

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkChanges compares a layer of 1000 changes (700 edits, 200 additions and a
// deleted directory of 100 files) to a tree of 100,000 files.
func BenchmarkChanges(b *testing.B) {
	root, upper := b.TempDir(), b.TempDir()
	fill := func(dir string, from, to, size int) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for i := from; i < to; i++ {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), fmt.Appendf(nil, "%*d\n", size, i), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for i := range 1000 {
		fill(fmt.Sprintf("%s/d%d/s%d", root, i/30, i), 0, 100, 2000)
	}
	for i := range 100 {
		fill(fmt.Sprintf("%s/d%d/s%d", upper, i/30, i), 93, 102, 4000)
	}
	if err := os.MkdirAll(upper+"/d30", 0o755); err != nil {
		b.Fatal(err)
	}
	if err := unix.Mknod(upper+"/d30/s900", unix.S_IFCHR, 0); err != nil {
		b.Fatal(err)
	}
	l := &Layer{Root: root, Upper: upper, Since: time.Now()}
	for b.Loop() {
		all, err := l.Changes()
		if err != nil || len(all) != 1001 {
			b.Fatal(len(all), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
}
