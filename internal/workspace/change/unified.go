package change

import (
	"bytes"
	"fmt"
)

// context is how many lines that did not change are shown around those that did.
const context = 3

// Unified returns a patch from old to new, or nothing if they are equal. The names
// stand in it as given: whoever calls has quoted them.
func Unified(oldName, newName string, old, new []byte) []byte {
	a, b := lines(old), lines(new)
	numbers := number(a, b)
	hunks := diff(numbers[0], numbers[1])
	if len(hunks) == 0 {
		return nil
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", oldName, newName)
	for len(hunks) > 0 {
		n := 1
		for n < len(hunks) && hunks[n].a0-hunks[n-1].a1 <= 2*context {
			n++
		}
		section(&out, a, b, hunks[:n])
		hunks = hunks[n:]
	}
	return out.Bytes()
}

// section prints differences that stand close together.
func section(out *bytes.Buffer, a, b [][]byte, hunks []hunk) {
	first, last := hunks[0], hunks[len(hunks)-1]
	before := min(context, first.a0)
	after := min(context, len(a)-last.a1)
	at := first.a0 - before
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(at, last.a1+after), span(first.b0-before, last.b1+after))
	for _, h := range hunks {
		show(out, ' ', a[at:h.a0])
		show(out, '-', a[h.a0:h.a1])
		show(out, '+', b[h.b0:h.b1])
		at = h.a1
	}
	show(out, ' ', a[at:at+after])
}

// span names the lines [from, to) as patches do: counted from 1, and a span of
// nothing by the line before it.
func span(from, to int) string {
	switch n := to - from; n {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, n)
	}
}

func show(out *bytes.Buffer, mark byte, lines [][]byte) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.Write(line)
		if line[len(line)-1] != '\n' {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
