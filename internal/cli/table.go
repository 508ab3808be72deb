package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// table prints rows below a head, which may be nil, as wide as the terminal. Cells are
// made inert, except those that paint has made.
func (c *console) table(head []string, rows [][]string) error {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			cells[i] = append(cells[i], c.cell(cell))
		}
	}
	var top []string
	for _, h := range head {
		top = append(top, c.paint(strong, h))
	}
	w := bufio.NewWriter(c.out)
	for _, line := range layTable(top, cells, columns(c.out)) {
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

// cell lets paint pass where it can only be ours, and nothing else that a terminal
// would obey.
func (c *console) cell(text string) string {
	plain := unpainted(text)
	clean := inert(strings.Join(strings.Fields(plain), " "))
	if plain != text && clean == plain && c.coloured(c.out) {
		return text
	}
	return clean
}

// verdictStyle is how the last word of a line of a report stands out.
var verdictStyle = map[string]style{"held": good, "open": bad, "missing": bad, "waived": notice, "unproved": notice}

// verdicts prints the table of a report whose lines end in a verdict.
func (c *console) verdicts(table func(io.Writer) error) error {
	var text strings.Builder
	if err := table(&text); err != nil {
		return err
	}
	w := bufio.NewWriter(c.out)
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndexByte(line, ' ') + 1
		if how, ok := verdictStyle[line[at:]]; ok {
			line = line[:at] + c.paint(how, line[at:])
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}
