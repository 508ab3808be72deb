package terminal

import (
	"testing"
	"time"
)

// TestEscapes: nothing that a terminal sends by itself is a key.
func TestEscapes(t *testing.T) {
	for typed, want := range map[string]string{
		"s\r":                             "s\r",
		"\x1b[0nS":                        "S",
		"\x1b[12;40Ro":                    "o",
		"\x1b[?1;2ca":                     "a",
		"\x1b]11;rgb:aaaa/oooo/ssss\x07n": "n",
		"\x1b]11;rgb:a/o/s\x1b\\n":        "n",
		"\x1bP1+r736f\x1b\\n":             "n",
		"\x1b[<0;3;4Mo":                   "o",
		"\x1bOAs":                         "s",
		"\x1b[115;1uo":                    "o",
		"\x1b\x1b[sa":                     "a",
		"\x1b]unended\rs":                 "s",
		"\x1bss":                          "s", // Alt-s is no s
		"ü":                               "ü",
	} {
		var e escapes
		var got []byte
		for _, c := range []byte(typed) {
			if e.step(c) {
				got = append(got, c)
			}
		}
		if string(got) != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}

// TestCover: whatever the agent has on is off while we ask, and on again afterwards; which
// screen is shown is not touched.
func TestCover(t *testing.T) {
	var out queue
	f := NewFilter(&out, true)
	f.Write([]byte("\x1b[?1049h\x1b[?1003h\x1b[?2004h\x1b[?25l\x1b[>5u\x1b[4h\x1b=\x1b[8m"))
	if got, want := string(f.traces.cover(nil)), "\x1b[<1u\x1b[?25h\x1b[?1003l\x1b[?2004l\x1b[4l\x1b>\x1b[m"; got != want {
		t.Errorf("cover: %q, want %q", got, want)
	}
	if got, want := string(f.traces.uncover(nil)), "\x1b[>5u\x1b[?25l\x1b[?1003h\x1b[?2004h\x1b[4h\x1b="; got != want {
		t.Errorf("uncover: %q, want %q", got, want)
	}
}

// TestRedraws: the true size follows once the agent has drawn for the smaller one, not at
// once, and in the end also where it draws nothing.
func TestRedraws(t *testing.T) {
	due := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		after      time.Duration
		drew, want bool
	}{{-time.Millisecond, true, false}, {time.Millisecond, true, true}, {time.Millisecond, false, false}, {redrawMost + time.Millisecond, false, true}} {
		r := &Relay{again: due, drew: c.drew}
		if got := r.redraws(due.Add(c.after)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if (&Relay{drew: true}).redraws(due) {
		t.Error("a size is told that nobody waits for")
	}
}
