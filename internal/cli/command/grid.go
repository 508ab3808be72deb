package command

import "strings"

// A table is aligned by what a terminal shows, and wrapped at its width. It knows no
// colours but lets them pass: a cell that is painted as a whole keeps its paint and
// takes no width for it.
//
// What is left at risk: terminals disagree on the width of some signs (flags, joined
// emoji), and a line with one of those may be out of line by a cell or two.

// between is what stands between two columns.
const between = "  "

// narrowest is how far a column is squeezed to make room for others. A word of up to
// unbroken cells, such as the id of a session, is left whole.
const (
	narrowest = 8
	unbroken  = 12
)

// layTable lays rows out below a head, which may be missing. Each line fits the width,
// but for words that are longer than the last column: those are most often paths,
// and a path in two pieces cannot be copied.
func layTable(head []string, rows [][]string, width int) []string {
	all := rows
	if len(head) > 0 {
		all = append([][]string{head}, rows...)
	}
	widths := fit(natural(all), floors(all), width)
	var lines []string
	for _, row := range all {
		lines = append(lines, layOut(row, widths)...)
	}
	return lines
}

// natural is the width of each column if there is room for all.
func natural(rows [][]string) (widths []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	return widths
}

// floors is how far each column can be squeezed.
func floors(rows [][]string) (least []int) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(least) {
				least = append(least, narrowest)
			}
			for _, word := range strings.Fields(unpainted(cell)) {
				if n := cellWidth(word); n <= unbroken && i < len(row)-1 {
					least[i] = max(least[i], n)
				}
			}
		}
	}
	return least
}

// fit squeezes the widest columns until the line fits or nothing can give way.
func fit(widths, least []int, width int) []int {
	total := (len(widths) - 1) * len(between)
	for _, w := range widths {
		total += w
	}
	for ; total > width; total-- {
		// The last of the widest gives way first: what stands in front tells rows apart.
		at := -1
		for i := range widths {
			if widths[i] > least[i] && (at < 0 || widths[i] >= widths[at]) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		widths[at]--
	}
	return widths
}

// layOut makes the lines of one row.
func layOut(row []string, widths []int) []string {
	cells, height := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = wrapCell(cell, widths[i], i < len(row)-1)
		height = max(height, len(cells[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		var b strings.Builder
		for i, cell := range cells {
			text := ""
			if n < len(cell) {
				text = cell[n]
			}
			b.WriteString(text)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-cellWidth(text))) + between)
			}
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// wrapCell breaks text into lines of the width, at spaces where there are any. A word that
// is longer is broken where it must be, or left whole. Paint goes on every line.
func wrapCell(text string, width int, split bool) (lines []string) {
	before, plain, after := unpaint(text)
	line, used := "", 0
	end := func() { lines, line, used = append(lines, before+line+after), "", 0 }
	for _, word := range strings.Fields(plain) {
		if used > 0 && used+1+cellWidth(word) > width {
			end()
		} else if used > 0 {
			line, used = line+" ", used+1
		}
		for split && used+cellWidth(word) > width {
			piece := cutCell(word, width-used)
			line, word = line+piece, word[len(piece):]
			end()
		}
		line, used = line+word, used+cellWidth(word)
	}
	if used > 0 || len(lines) == 0 {
		end()
	}
	return lines
}

// cutCell is as much of a text as the width holds, at least one sign: else there is no end.
func cutCell(text string, width int) string {
	used := 0
	for i, r := range text {
		if used += runeWidth(r); used > width && i > 0 {
			return text[:i]
		}
	}
	return text
}
