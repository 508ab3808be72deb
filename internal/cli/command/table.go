package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Table prints rows below a head, which may be nil, as wide as the terminal. Cells are
// made inert, except those that paint has made.
func (c *Console) Table(head []string, rows [][]string) error {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for _, cell := range row {
			cells[i] = append(cells[i], c.cell(cell))
		}
	}
	var top []string
	for _, h := range head {
		top = append(top, c.Paint(Strong, h))
	}
	w := bufio.NewWriter(c.Out)
	for _, line := range layTable(top, cells, Columns(c.Out)) {
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}

// cell lets paint pass where it can only be ours, and nothing else that a terminal
// would obey.
func (c *Console) cell(text string) string {
	plain := unpainted(text)
	clean := Inert(strings.Join(strings.Fields(plain), " "))
	if plain != text && clean == plain && c.coloured() {
		return text
	}
	return clean
}

// verdictStyle is how the last word of a line of a report stands out.
var verdictStyle = map[string]Style{"held": Good, "open": Bad, "missing": Bad, "waived": Notice, "unproved": Notice}

// Verdicts prints the table of a report whose lines end in a verdict.
func (c *Console) Verdicts(table func(io.Writer) error) error {
	var text strings.Builder
	if err := table(&text); err != nil {
		return err
	}
	w := bufio.NewWriter(c.Out)
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndexByte(line, ' ') + 1
		if how, ok := verdictStyle[line[at:]]; ok {
			line = line[:at] + c.Paint(how, line[at:])
		}
		fmt.Fprintln(w, line)
	}
	return w.Flush()
}
