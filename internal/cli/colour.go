package cli

import (
	"os"

	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// style is how a word stands out. What it says must be said by the word too: many
// people do not see the colour, and pipes never do.
type style string

const (
	good   style = "32"
	notice style = "33"
	bad    style = "31"
	strong style = "1"
	faint  style = "2"
)

// coloured: on a terminal that can, unless its owner wants none.
func (c *console) coloured(f *os.File) bool {
	return c.getenv("NO_COLOR") == "" && c.capable(f)
}

// capable reports whether f is a terminal that obeys more than line ends.
func (c *console) capable(f *os.File) bool {
	term := c.getenv("TERM")
	return term != "" && term != "dumb" && terminal.IsTerminal(f)
}

// paint styles a word of the data on stdout; it is made inert on the way.
func (c *console) paint(s style, text string) string { return c.paintOn(c.out, s, text) }

func (c *console) paintOn(f *os.File, s style, text string) string {
	text = inert(text)
	if !c.coloured(f) {
		return text
	}
	return paintText(string(s), text)
}

// columns is how wide f is: 80 where nobody knows.
func columns(f *os.File) int {
	if size, err := terminal.Size(f); err == nil && size.Col > 0 {
		return max(40, int(size.Col))
	}
	return 80
}
