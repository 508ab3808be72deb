package terminal

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestConcealedAfterRestore: attributes that a saved cursor brings back are reset too.
func TestConcealedAfterRestore(t *testing.T) {
	for _, in := range []string{"\x1b[8m\x1b7\x1b[m\x1b8", "\x1b[8m\x1b[?1049h\x1b[m\x1b[?1049l", "\x1b[30;40m\x1b[s\x1b[0m\x1b[u"} {
		var out bytes.Buffer
		f := NewFilter(&out, true)
		io.WriteString(f, in)
		out.Reset()
		f.Leave()
		if !strings.Contains(out.String(), "\x1b[m") {
			t.Errorf("%q: what is left of it hides the prompt: %q", in, out.String())
		}
	}
}

// TestMarkOfEveryTitle: whichever title a terminal shows, it says whose it is.
func TestMarkOfEveryTitle(t *testing.T) {
	for _, code := range []string{"0", "1", "2"} {
		var out bytes.Buffer
		f := NewFilter(&out, true)
		f.mark = "[fenced]"
		io.WriteString(f, "\x1b]"+code+";bash\a")
		if want := pushTitle + "\x1b]" + code + ";[fenced] bash\a"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

// TestKeysOfOthers: keyboard flags that somebody outside pushed or set stay.
func TestKeysOfOthers(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[<u": "", "\x1b[<9u": "", "\x1b[>1u\x1b[<5u": "\x1b[>1u\x1b[<1u", "\x1b[>1u\x1b[>2u\x1b[<u\x1b[<u\x1b[<u": "\x1b[>1u\x1b[>2u\x1b[<1u\x1b[<1u",
		"\x1b[=5u": "\x1b[>5u", "\x1b[=1u\x1b[=4;2u\x1b[=1;3u": "\x1b[>1u\x1b[=5u\x1b[=4u",
	} {
		if got := run(true, in); got != want {
			t.Errorf("%q passes as %q, want %q", in, got, want)
		}
	}
	var out bytes.Buffer
	f := NewFilter(&out, true)
	io.WriteString(f, "\x1b[=5u")
	out.Reset()
	if f.Leave(); out.String() != "\x1b[<1u" {
		t.Errorf("taken back by %q", out.String())
	}
}

// TestNothingForTheShellsKeys: while a shell reads the terminal, an agent in the background
// does not change what it sends; what it asked for holds when it is in front.
func TestNothingForTheShellsKeys(t *testing.T) {
	const asks = "\x1b[?2004h\x1b[?1h\x1b[?66h\x1b[?1000h\x1b=\x1b[>31u\x1b[>4;2m"
	for _, in := range []string{"\x1b[?2004l", "\x1b[?1;66;1004h", "\x1b[>31u", "\x1b[<u", "\x1b[=31u", "\x1b[>4;2m", "\x1b=", "\x1b>", asks} {
		if got := run(false, in); got != "" {
			t.Errorf("%q passes as %q", in, got)
		}
	}
	for _, in := range []string{"\x1bc", "\x1b[!p"} {
		if got := run(false, in); got == "" || strings.ContainsAny(got, "?>=cp") {
			t.Errorf("%q passes as %q", in, got)
		}
	}
	var out bytes.Buffer
	f := NewFilter(&out, false)
	io.WriteString(f, asks)
	if f.Leave(); out.Len() > 0 {
		t.Errorf("takes back what was never on: %q", out.String())
	}
	if f.Return(); out.Len() > 0 || f.marks { // as logs does, and who has no terminal to read from
		t.Errorf("a shell still reads the terminal, and it is told %q", out.String())
	}
	f.answered = true
	f.Return()
	for _, want := range []string{"\x1b[?2004h", "\x1b[?1h", "\x1b[?66h", "\x1b[?1000h", "\x1b=", "\x1b[>31u", "\x1b[>4;2m"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("in front %q is missing in %q", want, out.String())
		}
	}
	if !f.marks {
		t.Error("it is not known that the terminal marks pastes")
	}
}

// TestDumb: a terminal that knows no sequences gets none of ours.
func TestDumb(t *testing.T) {
	for term, titled := range map[string]bool{"dumb": false, "xterm": true} {
		t.Setenv("TERM", term)
		var ends [4]*os.File
		for i := 0; i < len(ends); i += 2 {
			var err error
			if ends[i], ends[i+1], err = pty.Open(); err != nil {
				t.Fatal(err)
			}
			defer ends[i].Close()
		}
		user, tty, master, inside := ends[0], ends[1], ends[2], ends[3]
		r, err := New(Config{In: tty, Out: tty, Master: master, Mark: "[fenced]"})
		if err != nil {
			t.Fatal(err)
		}
		r.Notify("a notice")
		r.Print("a line")
		io.WriteString(inside, "hello")
		inside.Close()
		if err := r.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		tty.Close()
		got, _ := io.ReadAll(user) // EIO is the end
		if !strings.Contains(string(got), "hello") || strings.Contains(string(got), "\x1b") == !titled {
			t.Errorf("%s is told %q", term, got)
		}
	}
}
