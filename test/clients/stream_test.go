package clients

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

const large = 16 << 20 // more than all buffers on the way hold

// patternSum is the digest of so many bytes as the far side sends or expects them.
func patternSum(t *testing.T, n int64) string {
	h := sha256.New()
	if _, err := io.Copy(h, world.Pattern(n)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// ends are the records of connections that have ended.
func ends(r world.Result) (out []journal.Record) {
	for _, rec := range r.Journal {
		if rec.Event == journal.End {
			out = append(out, rec)
		}
	}
	return out
}

// TestHalfClose: the server says nothing before the client has ended its side, and
// the client hears what it says after that.
func TestHalfClose(t *testing.T) {
	w := world.New(t)
	w.Bring("client")
	for _, n := range []int64{0, 1, 100_000} {
		r := w.Run("--allow-host", "allowed.test:9", "--", "./client", "send", "allowed.test:9", fmt.Sprint(n))
		if want := patternSum(t, n) + "\n"; r.Status != 0 || r.Stdout != want {
			t.Errorf("%d bytes: got %+v, want %s", n, r, want)
		}
	}
}

// TestLargeTransfers: what arrives is what was sent, all of it, both ways, through
// every way that the gate has of moving bytes; and the journal counts the same. The users
// share the ways.
func TestLargeTransfers(t *testing.T) {
	w := world.New(t)
	w.Bring("client")
	pattern, err := io.ReadAll(world.Pattern(large))
	if err != nil {
		t.Fatal(err)
	}
	w.Put("pattern", pattern, 0o644)
	want, size := patternSum(t, large), fmt.Sprint(large)
	const download = `curl -sS -f --cacert ca.pem "$1/bytes/$2" | sha256sum`
	for i, c := range []struct {
		name     string
		sent     bool // else received
		overhead int64
		argv     []string
	}{
		{"tcp up", true, 0, []string{"./client", "send", "allowed.test:9", size}},
		{"tcp down", false, 0, []string{"./client", "receive", "allowed.test:19", size}},
		{"https up", true, large / 100, []string{"curl", "-sS", "-f", "--cacert", "ca.pem", "--data-binary", "@pattern", "https://allowed.test/digest"}},
		{"https down", false, large / 100, []string{"sh", "-c", download, "sh", "https://allowed.test", size}},
		{"http up", true, 4096, []string{"curl", "-sS", "-f", "-H", "Expect:", "--data-binary", "@pattern", "http://allowed.test/digest"}},
		{"http up in chunks", true, large / 100, []string{"curl", "-sS", "-f", "-H", "Expect:", "-H", "Transfer-Encoding: chunked", "--data-binary", "@pattern", "http://allowed.test/digest"}},
		{"http down", false, 4096, []string{"sh", "-c", download, "sh", "http://allowed.test", size}},
	} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			flags := []string{"--allow-host", "allowed.test", "--allow-host", "allowed.test:9", "--allow-host", "allowed.test:19", "--"}
			r := w.Run(append(flags, c.argv...)...)
			if got, _, _ := strings.Cut(strings.TrimSpace(r.Stdout), " "); r.Status != 0 || got != want {
				t.Errorf("digest %q, want %q: status %d: %s", got, want, r.Status, r.Stderr)
			}
			e := ends(r)
			if len(e) != 1 {
				t.Fatalf("%d connections in the journal: %+v", len(e), r.Journal)
			}
			got := e[0].Received
			if c.sent {
				got = e[0].Sent
			}
			if got < large || got > large+c.overhead+16 {
				t.Errorf("the journal counts %d bytes of %d", got, large)
			}
		})
	}
}

func TestFiftyAtOnce(t *testing.T) {
	const n = 50
	w := world.New(t)
	w.Bring("client")
	r := w.Run("--allow-host", "allowed.test:7", "--", "./client", "parallel", "allowed.test:7", fmt.Sprint(n))
	if r.Stdout != fmt.Sprintln(n, "good") {
		t.Errorf("got %+v", r)
	}
	var decided, ended int
	for _, rec := range r.Journal {
		if rec.Via == "tcp" && rec.Name == world.Allowed && rec.Port == 7 && rec.Event == journal.Decision && rec.Verdict == journal.Allow {
			decided++
		}
		if rec.Event == journal.End && rec.Sent > 0 && rec.Sent == rec.Received {
			ended++
		}
	}
	if decided != n || ended != n {
		t.Errorf("the journal has %d decisions and %d ends", decided, ended)
	}
}
