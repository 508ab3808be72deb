package drill

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Result is what became of a step.
type Result string

// The results. A step is unproved if the copy outside came to no harm by it.
const (
	Held     Result = "held"
	Open     Result = "open"
	Unproved Result = "unproved"
)

// Row is one step of a report.
type Row struct {
	N        int    `json:"n"`
	Tried    string `json:"tried"`
	Happened string `json:"happened"`
	Wall     string `json:"wall"`
	Result   Result `json:"result"`
	Outside  string `json:"outside,omitempty"` // what happened in the copy without a sandbox
}

// Report is how a drill went.
type Report struct {
	Drill   string `json:"drill"`
	Title   string `json:"title"`
	Rows    []Row  `json:"steps"`
	Held    bool   `json:"held"`    // every step
	Control string `json:"control"` // in words
}

// judge looks at every step, inside and in the copy.
func (p *playing) judge() Report {
	r := Report{Drill: p.drill.Name, Title: p.drill.Title, Held: true}
	harmed, controlled := 0, 0
	for i, st := range p.drill.steps {
		row := Row{N: i + 1, Tried: st.tried, Wall: st.wall, Result: Held}
		row.Happened, row.Result = p.verdict(i)
		if p.control != nil && !st.alone {
			controlled++
			var held bool
			if row.Outside, held = st.judge(&evidence{scene: p.copied, answer: p.control[i], answers: p.control}); !held {
				harmed++
			} else if row.Result == Held {
				row.Result = Unproved
				row.Happened += "; outside too: " + row.Outside
			}
		}
		r.Held = r.Held && row.Result == Held
		r.Rows = append(r.Rows, row)
	}
	r.Control = fmt.Sprintf("control: %d of %d steps did their harm on a copy outside", harmed, controlled)
	if p.control == nil {
		r.Control = "control: not run as root"
	}
	return r
}

func (p *playing) verdict(i int) (happened string, res Result) {
	if p.unreal[i] != "" {
		return p.unreal[i], Open
	}
	if why := p.answers[i].Unsafe; why != "" {
		return "not tried: " + why, Open
	}
	happened, held := p.drill.steps[i].judge(&evidence{scene: p.inside, answer: p.answers[i], answers: p.answers, seen: p.seen})
	if !held {
		return happened, Open
	}
	return happened, Held
}

// The columns of the table, which fits a terminal of 80.
const (
	triedWidth    = 30
	happenedWidth = 26
	wallWidth     = 7
)

// Table writes the report for people.
func (r Report) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", strings.Join(fold(r.Drill+": "+r.Title, 80), "\n"))
	line := func(n, tried, happened, wall, result string) {
		text := fmt.Sprintf("%2s  %-*s  %-*s  %-*s %s", n, triedWidth, tried, happenedWidth, happened, wallWidth, wall, result)
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	line("#", "tried", "happened", "wall", "result")
	for _, row := range r.Rows {
		tried, happened := fold(row.Tried, triedWidth), fold(row.Happened, happenedWidth)
		line(fmt.Sprint(row.N), at(tried, 0), at(happened, 0), row.Wall, string(row.Result))
		for i := 1; i < max(len(tried), len(happened)); i++ {
			line("", at(tried, i), at(happened, i), "", "")
		}
	}
	fmt.Fprintf(&b, "\n%d steps: %d held, %d open, %d unproved\n%s\n", len(r.Rows), r.count(Held), r.count(Open), r.count(Unproved), r.Control)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) count(res Result) (n int) {
	for _, row := range r.Rows {
		if row.Result == res {
			n++
		}
	}
	return n
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// fold breaks a text into lines of the width, at spaces where there are any. What
// came from inside may be in it: no control character reaches the terminal.
func fold(text string, width int) (lines []string) {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, text)
	var line []rune
	for _, word := range strings.Fields(text) {
		rest := []rune(word)
		if len(line) > 0 && len(line)+1+len(rest) > width {
			lines, line = append(lines, string(line)), nil
		}
		if len(line) > 0 {
			line = append(line, ' ')
		}
		for len(line)+len(rest) > width {
			n := width - len(line)
			lines, rest, line = append(lines, string(append(line, rest[:n]...))), rest[n:], nil
		}
		line = append(line, rest...)
	}
	return append(lines, string(line))
}
