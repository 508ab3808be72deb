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
	for _, v := range []Verdict{Missing, Partly, Waived, NotApplied} {
		for _, reason := range r.reasons(v) {
			b.WriteString("\n" + fold(reason))
		}
	}
	fmt.Fprintf(&b, "\n%d checks: %d held, %d partly, %d waived, %d missing\n", len(r.Rows)-r.Count(NotApplied), r.Count(Held), r.Count(Partly), r.Count(Waived), r.Count(Missing))
	fmt.Fprintf(&b, "rung %s; seen from outside by %s\n", r.Rung, r.Witness)
	_, err := io.WriteString(w, b.String())
	return err
}

// reasons says why rows have a verdict; rows that follow each other for the same
// reason share a line.
func (r Report) reasons(v Verdict) []string {
	var out []string
	for i := 0; i < len(r.Rows); i++ {
		first := r.Rows[i]
		if first.Result != v {
			continue
		}
		for i+1 < len(r.Rows) && r.Rows[i+1].Result == v && r.Rows[i+1].Detail == first.Detail {
			i++
		}
		number := fmt.Sprint(first.N)
		if last := r.Rows[i].N; last != first.N {
			number += fmt.Sprintf("-%d", last)
		}
		out = append(out, fmt.Sprintf("%s %s: %s", number, v, first.Detail))
	}
	return out
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
