package link

import (
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The benchmarks carry bulk from a writer to a reader in three ways: over a relay that
// copies between two pairs of unix sockets; over a link on one pair; and over a link whose
// both ends relay to sockets, as they do for a connection of the sandbox.
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

// overPlain is a relay between two pairs of sockets: where it begins and where it ends.
func overPlain(b *testing.B) (io.WriteCloser, io.Reader) {
	w, in := sockets(b)
	out, r := sockets(b)
	go plain(out, in)
	return w, r
}

// overLink is a link whose both ends relay to sockets.
func overLink(b *testing.B) (io.WriteCloser, io.Reader) {
	near, far := pair(b)
	toNear, atNear := opened(b, far, near, web)
	w, in := sockets(b)
	out, r := sockets(b)
	go relay(toNear, in)
	go func() {
		atNear.WriteTo(out)
		out.Close()
	}()
	return w, r
}

func BenchmarkBulkPlain(b *testing.B) {
	w, r := overPlain(b)
	bulk(b, w, r)
}

func BenchmarkBulkLink(b *testing.B) {
	near, far := pair(b)
	w, r := opened(b, far, near, web)
	bulk(b, w, r)
}

func BenchmarkBulkLinkRelayed(b *testing.B) {
	w, r := overLink(b)
	bulk(b, w, r)
}

// BenchmarkBulkRatio takes turns: 32 MB over the plain relay, 32 MB over the link with its
// relays. What else the machine does slows both alike. It says how much of the plain
// relay's speed the link has, by the clock and by processor time.
func BenchmarkBulkRatio(b *testing.B) {
	const turn = 256
	var clock, computed [2]int64
	var w [2]io.WriteCloser
	var r [2]io.Reader
	w[0], r[0] = overPlain(b)
	w[1], r[1] = overLink(b)
	p, buf := make([]byte, piece), make([]byte, piece)
	for b.Loop() {
		for i := range w {
			began, before := time.Now(), cpu(b)
			go func() {
				for range turn {
					w[i].Write(p)
				}
			}()
			if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(r[i], turn*piece), buf); err != nil {
				b.Fatal(err)
			}
			clock[i] += int64(time.Since(began))
			computed[i] += cpu(b) - before
		}
	}
	b.ReportMetric(float64(clock[0])/float64(clock[1]), "of-clock")
	b.ReportMetric(float64(computed[0])/float64(computed[1]), "of-cpu")
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
