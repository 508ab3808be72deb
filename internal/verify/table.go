package verify

import (
	"fmt"
	"io"
	"strings"
)

// Width of the table: it fits a terminal of 80 columns.
const (
	width          = 80
	defenceWidth   = 36
	mechanismWidth = 28
)

// Table writes the report for people: number, defence, mechanism, result, without
// colour, and below it why something is not held.
func (r Report) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%3s  %-*s  %-*s  %s\n", "#", defenceWidth, "defence", mechanismWidth, "mechanism", "result")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%3d  %-*s  %-*s  %s\n", row.N, defenceWidth, row.Defence, mechanismWidth, row.Mechanism, row.Result)
	}
	for _, v := range []Verdict{Missing, Waived} {
		for _, row := range r.Rows {
			if row.Result == v {
				fmt.Fprintf(&b, "\n%s", fold(fmt.Sprintf("%d %s: %s", row.N, v, row.Detail)))
			}
		}
	}
	fmt.Fprintf(&b, "\n%d checks: %d held, %d waived, %d missing\n", len(r.Rows), r.Count(Held), r.Count(Waived), r.Count(Missing))
	_, err := io.WriteString(w, b.String())
	return err
}

// fold breaks a text into lines of the width, at spaces where there are any, and
// sets all lines but the first in.
func fold(text string) string {
	const indent = "    "
	var b strings.Builder
	line, fresh := []rune{}, true
	end := func() {
		b.WriteString(string(line) + "\n")
		line, fresh = []rune(indent), true
	}
	for _, word := range strings.Fields(text) {
		rest := []rune(word)
		if !fresh && len(line)+1+len(rest) > width && len(rest) <= width-len(indent) {
			end()
		}
		if !fresh {
			line = append(line, ' ')
		}
		for len(line)+len(rest) > width {
			n := width - len(line)
			line = append(line, rest[:n]...)
			rest = rest[n:]
			end()
		}
		line = append(line, rest...)
		fresh = len(rest) == 0
	}
	end()
	return b.String()
}
