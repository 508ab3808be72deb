package link

import (
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// The benchmarks carry bulk from a writer to a reader in three ways: over a relay that
// copies between two pairs of unix sockets; over a link on one pair; and over a link whose
// both ends relay to sockets, as they do for a connection of the sandbox. Compare medians:
//
//	go test -run '^$' -bench Bulk -count 5 ./internal/sandbox/link

const piece = 128 << 10

// bulk writes b.N pieces to w, and waits until r has read them.
func bulk(b *testing.B, w io.WriteCloser, r io.Reader) {
	b.Helper()
	b.SetBytes(piece)
	go func() {
		p := make([]byte, piece)
		for range b.N {
			if _, err := w.Write(p); err != nil {
				b.Error(err)
				return
			}
		}
		w.Close()
	}()
	before := cpu(b)
	b.ResetTimer()
	buf, n := make([]byte, piece), 0
	for n < b.N*piece {
		k, err := r.Read(buf)
		n += k
		if err != nil {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(n)*1000, "cpu-ns/kB")
}

// cpu is the time that this process has computed: on a shared machine it says more than
// the clock.
func cpu(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// plain copies without splice, as a relay does that looks at what passes.
func plain(to io.WriteCloser, from io.Reader) {
	buf := make([]byte, piece)
	io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buf)
	to.Close()
}

func BenchmarkBulkPlain(b *testing.B) {
	w, in := sockets(b)
	out, r := sockets(b)
	go plain(out, in)
	bulk(b, w, r)
}

func BenchmarkBulkLink(b *testing.B) {
	near, far := pair(b)
	w, r := opened(b, far, near, web)
	bulk(b, w, r)
}

func BenchmarkBulkLinkRelayed(b *testing.B) {
	near, far := pair(b)
	toNear, atNear := opened(b, far, near, web)
	w, in := sockets(b)
	out, r := sockets(b)
	go relay(toNear, in)
	go func() {
		io.Copy(struct{ io.Writer }{out}, atNear)
		out.Close()
	}()
	bulk(b, w, r)
}

// BenchmarkOpen is a stream that is opened, answered with one byte, and closed.
func BenchmarkOpen(b *testing.B) {
	near, far := pair(b)
	go func() {
		for {
			s, err := near.Accept()
			if err != nil {
				return
			}
			s.Write([]byte{Connected})
			s.Close()
		}
	}()
	p := make([]byte, 1)
	for b.Loop() {
		s, err := far.Open(web)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Read(p); err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

// relay copies as a far end does: what it reads at once fits into frames.
func relay(to io.WriteCloser, from io.Reader) {
	io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, MaxCopy))
	to.Close()
}
