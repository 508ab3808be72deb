package policy

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/fault"
)

// document is the text of a policy file with what is needed to point into it.
type document struct {
	name     string
	data     []byte
	newlines []int // offsets
}

// span is a range of bytes of a document.
type span struct{ at, length int }

func newDocument(name string, data []byte) *document {
	d := &document{name: name, data: data}
	for i, c := range data {
		if c == '\n' {
			d.newlines = append(d.newlines, i)
		}
	}
	return d
}

func (d *document) line(at int) int { return 1 + sort.SearchInts(d.newlines, at) }

func (d *document) source(s span) Source { return Source{File: d.name, Line: d.line(s.at)} }

// fail returns the error a person sees: file and line, what is wrong, and the
// line itself with an underline.
func (d *document) fail(s span, hint, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if len(text) > maxText { // it quotes a value, and a value may be a whole file long
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return fault.New(fault.Usage, hint, "%s: %s\n%s", d.source(s), text, d.excerpt(s))
}

const maxText = 400

// excerptSide bounds each of the three parts of a line that is shown.
const excerptSide = 60

func (d *document) excerpt(s span) string {
	at := min(s.at, len(d.data))
	start := bytes.LastIndexByte(d.data[:at], '\n') + 1
	end := len(d.data)
	if i := bytes.IndexByte(d.data[at:], '\n'); i >= 0 {
		end = at + i
	}
	stop := min(at+s.length, end)
	before, marked, after := shown(d.data[start:at]), shown(d.data[at:stop]), shown(d.data[stop:end])
	if n := len(before); n > excerptSide {
		before = append([]rune{'…'}, before[n-excerptSide:]...)
	}
	if len(marked) > excerptSide {
		marked, after = append(marked[:excerptSide:excerptSide], '…'), nil
	}
	if len(after) > excerptSide {
		after = append(after[:excerptSide:excerptSide], '…')
	}
	number := fmt.Sprintf("%5d", d.line(at))
	text := strings.TrimRight(string(slices.Concat(before, marked, after)), " ")
	return fmt.Sprintf("%s | %s\n%5s | %s^%s", number, text, "",
		strings.Repeat(" ", len(before)), strings.Repeat("~", max(len(marked)-1, 0)))
}

// shown gives one rune of width one for each rune of b (wide scripts shift the
// underline), and nothing that a terminal would obey.
func shown(b []byte) []rune {
	b = bytes.TrimSuffix(b, []byte("\r"))
	out := make([]rune, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\t':
			r = ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			r = '?'
		}
		out, b = append(out, r), b[n:]
	}
	return out
}
