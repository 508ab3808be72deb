package command

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// shown is what a terminal of that width, or a pipe if it has none, gets to see.
func shown(t *testing.T, columns uint16, environ []string, do func(c *Console)) string {
	t.Helper()
	from, to := openEnds(t, columns)
	done := make(chan []byte)
	go func() {
		var b bytes.Buffer
		io.Copy(&b, from) // a terminal ends in an error
		done <- b.Bytes()
	}()
	do(&Console{In: to, Out: to, Err: to, Environ: environ})
	to.Close()
	out := <-done
	from.Close()
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

func openEnds(t *testing.T, columns uint16) (from, to *os.File) {
	t.Helper()
	var err error
	if columns == 0 {
		from, to, err = os.Pipe()
	} else if from, to, err = pty.Open(); err == nil {
		err = pty.Setsize(to, &pty.Winsize{Rows: 24, Cols: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	return from, to
}

func TestTableOnTerminals(t *testing.T) {
	draw := func(c *Console) {
		c.Table([]string{"NAME", "STATE", "TEXT"}, [][]string{
			{"one", c.Paint(Bad, "missing"), strings.Repeat("many words ", 12)},
			{"two\x1b[2J", c.Paint(Good, "held"), "\x1b[31mred\x1b[0m \x1b]0;title\x07"},
		})
	}
	for _, c := range []struct {
		name    string
		columns uint16
		environ []string
		colour  bool
		width   int
	}{
		{"terminal", 60, []string{"TERM=xterm"}, true, 60},
		{"wide terminal", 200, []string{"TERM=xterm"}, true, 200},
		{"NO_COLOR", 60, []string{"TERM=xterm", "NO_COLOR=1"}, false, 60},
		{"dumb", 60, []string{"TERM=dumb"}, false, 60},
		{"pipe", 0, []string{"TERM=xterm"}, false, 80},
	} {
		got := shown(t, c.columns, c.environ, draw)
		if strings.Contains(got, "\x1b[31m") != c.colour || strings.Contains(got, "\x1b[32m") != c.colour {
			t.Errorf("%s: %q", c.name, got)
		}
		if strings.Contains(got, "\x1b[2J") || strings.Contains(got, "\x1b]0") || strings.Contains(got, "\x1b[31mred") {
			t.Errorf("%s: what came from outside is obeyed: %q", c.name, got)
		}
		for line := range strings.Lines(stripped(got)) {
			if cellWidth(strings.TrimSuffix(line, "\n")) > c.width {
				t.Errorf("%s: wider than %d: %q", c.name, c.width, line)
			}
		}
		if !strings.Contains(got, "missing") || !strings.Contains(got, "held") {
			t.Errorf("%s: only the colour says it: %q", c.name, got)
		}
	}
}

// stripped is a text without our colours.
func stripped(text string) string {
	for _, s := range []Style{Good, Notice, Bad, Strong, Faint, "0"} {
		text = strings.ReplaceAll(text, "\x1b["+string(s)+"m", "")
	}
	return text
}

func TestVerdicts(t *testing.T) {
	table := func(w io.Writer) error {
		_, err := io.WriteString(w, " 1  a wall that held  seccomp  held\n 2  x  y  open\n\n2 steps: 1 held\n")
		return err
	}
	got := shown(t, 80, []string{"TERM=xterm"}, func(c *Console) { c.Verdicts(table) })
	if want := " 1  a wall that held  seccomp  \x1b[32mheld\x1b[0m\n 2  x  y  \x1b[31mopen\x1b[0m\n\n2 steps: 1 \x1b[32mheld\x1b[0m\n"; got != want {
		t.Errorf("got %q", got)
	}
	plain := shown(t, 0, nil, func(c *Console) { c.Verdicts(table) })
	if strings.Contains(plain, "\x1b") {
		t.Errorf("got %q", plain)
	}
}

// TestProgress: a line after a second, taken away at the end; nothing for a pipe.
func TestProgress(t *testing.T) {
	from, to := openEnds(t, 60)
	defer from.Close()
	c := &Console{Err: to, Environ: []string{"TERM=xterm"}}
	step, done := c.Progress("copying\x1b[2J", 3)
	step(2)
	var got []byte
	buf := make([]byte, 256)
	for !bytes.Contains(got, []byte("copying\\u001b[2J: 2 of 3")) {
		n, err := from.Read(buf)
		if err != nil {
			t.Fatalf("%v: %q", err, got)
		}
		got = append(got, buf[:n]...)
	}
	done()
	done()
	to.Close()
	rest, _ := io.ReadAll(from)
	if all := append(got, rest...); !bytes.HasSuffix(all, []byte("\r\x1b[K")) {
		t.Errorf("it stays: %q", all)
	}
	quiet := shown(t, 0, []string{"TERM=xterm"}, func(c *Console) {
		step, done := c.Progress("copying", 3)
		step(1)
		done()
	})
	if quiet != "" {
		t.Errorf("a pipe is told %q", quiet)
	}
}
