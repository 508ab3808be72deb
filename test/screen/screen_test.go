package screen

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// drawn has every kind of sequence, and texts that they cut in pieces.
const drawn = "\x1b[2J\x1b[1;1Hhello \x1b[1mthere\x1b[0m\x1b]0;a title\x07 more\x1b]8;;http://a.test\x1b\\a link\x1b]8;;\x1b\\\r\n" +
	"\x1bPpayload\x1b\\\x1b(Bgrün\u00a0und\x1b[38;5;12m blau\x1b[?25l\x1b7end"

// TestPieces: it does not matter in which pieces something comes.
func TestPieces(t *testing.T) {
	const want = "hellotheremorealinkgrünundblauend"
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := &Screen{}
		for rest := drawn; rest != ""; {
			n := 1 + r.IntN(min(len(rest), 1+int(seed%40)))
			s.Write([]byte(rest[:n]))
			rest = rest[n:]
			s.Text()
		}
		if got := s.Text(); got != want {
			t.Fatalf("seed %d: %q", seed, got)
		}
		if s.String() != drawn || !s.Holds("\x1b[1mthere") || !s.Shows("hello there") || s.Shows("payload") {
			t.Fatalf("seed %d: %q", seed, s)
		}
	}
}

// TestSettles: what was looked at is not looked at again.
func TestSettles(t *testing.T) {
	s := &Screen{}
	for range 1000 {
		s.Write([]byte("\x1b[1mword\x1b[0m "))
	}
	if len(s.rest) > 10 || s.Text() != strings.Repeat("word", 1000) {
		t.Errorf("%d bytes are left of %d", len(s.rest), s.all.Len())
	}
}
