package command

import (
	"os"

	"ringfence.dev/ringfence/internal/sandbox/terminal"
)

// Style is how a word stands out. What it says must be said by the word too: many
// people do not see the colour, and pipes never do.
type Style string

const (
	Good   Style = "32"
	Notice Style = "33"
	Bad    Style = "31"
	Strong Style = "1"
	Faint  Style = "2"
)

// coloured holds for data on a terminal that can, unless its owner wants none.
func (c *Console) coloured() bool { return c.Getenv("NO_COLOR") == "" && c.capable(c.Out) }

// capable reports whether f is a terminal that obeys more than line ends.
func (c *Console) capable(f *os.File) bool {
	term := c.Getenv("TERM")
	return term != "" && term != "dumb" && terminal.IsTerminal(f)
}

// Paint styles a word of the data on stdout; it is made inert on the way.
func (c *Console) Paint(s Style, text string) string {
	text = Inert(text)
	if !c.coloured() {
		return text
	}
	return paintText(string(s), text)
}

// Columns is how wide f is: 80 where nobody knows.
func Columns(f *os.File) int {
	if size, err := terminal.Size(f); err == nil && size.Col > 0 {
		return max(40, int(size.Col))
	}
	return 80
}
