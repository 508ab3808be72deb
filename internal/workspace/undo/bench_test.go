package undo

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func BenchmarkCreatedBelow(b *testing.B) {
	k := newKeeper(b, 1, roomy)
	k.check(k.s.Created(0, "node_modules", true))
	b.ReportAllocs()
	for b.Loop() {
		k.check(k.s.Created(0, "node_modules/some-package/lib/internal/index.js", false))
	}
}

func BenchmarkCreated(b *testing.B) {
	k := newKeeper(b, 1, roomy)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		k.check(k.s.Created(0, fmt.Sprint("src/internal/package/file", n%maxNames), false))
	}
}

func BenchmarkSaveAgain(b *testing.B) {
	k := newKeeper(b, 1, roomy)
	k.plant(0, map[string]string{"f": "old"})
	b.ReportAllocs()
	for b.Loop() {
		k.check(k.s.Save(0, "f", k.fds[0], "f", Write))
	}
}

func benchmarkSave(b *testing.B, how How, size int) {
	k := newKeeper(b, 1, Limits{1 << 40, 1 << 40})
	var names []string
	data := make([]byte, size)
	for n := range b.N {
		names = append(names, fmt.Sprint("f", n))
		k.check(os.WriteFile(k.path(place{0, names[n]}), data, 0o644))
	}
	b.ResetTimer()
	for _, name := range names {
		k.check(k.s.Save(0, name, k.fds[0], name, how))
	}
}

func BenchmarkSaveRemove(b *testing.B) { benchmarkSave(b, Remove, 4096) }
func BenchmarkSaveMode(b *testing.B)   { benchmarkSave(b, Mode, 4096) }
func BenchmarkSaveWrite(b *testing.B)  { benchmarkSave(b, Write, 4096) }

// BenchmarkRestore brings back a deleted tree of 1000 files.
func BenchmarkRestore(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		k := newKeeper(b, 1, roomy)
		for n := range 1000 {
			k.plant(0, map[string]string{fmt.Sprintf("d%d/f%d", n%10, n): "some content"})
		}
		for n := range 10 {
			k.check(k.removeAll(place{0, fmt.Sprint("d", n)}))
		}
		k.close()
		b.StartTimer()
		if all, err := k.open().Changes(0); err != nil || len(all) != 1010 {
			b.Fatal(len(all), err)
		}
		k.restore(0, nil, false)
	}
}

// BenchmarkChanges compares 1000 changed files.
func BenchmarkChanges(b *testing.B) {
	k := newKeeper(b, 1, roomy)
	for n := range 1000 {
		s := place{0, fmt.Sprint("f", n)}
		k.plant(0, map[string]string{s.rel: "some content"})
		k.check(k.write(s, "other content"))
	}
	k.close()
	unix.Sync()
	for b.Loop() {
		if all, err := k.open().Changes(0); err != nil || len(all) != 1000 {
			b.Fatal(len(all), err)
		}
	}
}

// BenchmarkRenamed moves a file of before back and forth: each time is written down.
func BenchmarkRenamed(b *testing.B) {
	k := newKeeper(b, 1, roomy)
	k.plant(0, map[string]string{"src/f": "old"})
	for b.Loop() {
		k.check(k.s.Renamed(0, "src/f", 0, "src/g", false))
		k.check(k.s.NotRenamed(0, "src/f", 0, "src/g"))
	}
}
