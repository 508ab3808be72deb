package injection

import (
	"slices"
	"strings"
)

// place is a part of a text, and where it is.
type place struct {
	at   int
	text string
}

// unclosed is how far an element without an end goes.
const unclosed = 16 << 10

// places are the parts that an agent reads and a person does not see. Parts that lie in
// each other are one, so all of them together are no longer than the text.
func places(w *work, text string) []place {
	w.charge(4 * len(text))
	l := &laid{text: text, lines: next{text: text, of: "\n"}, tags: next{text: text, of: ">"}}
	for _, c := range Comments(text) {
		l.add(c[0]+4, c[1])
	}
	for at := 0; ; at++ {
		i := strings.IndexAny(text[at:], "<[\x1b")
		if i < 0 {
			break
		}
		at += i
		switch rest := text[at:]; {
		case rest[0] == '\x1b':
			l.terminal(at)
		case rest[0] == '[' && (strings.HasPrefix(rest, "[//]: #") || strings.HasPrefix(strings.ToLower(rest[:min(len(rest), 12)]), "[comment]:")):
			l.add(at+7, l.lines.from(at))
		case rest[0] == '<' && len(rest) > 1 && letter(rest[1]) && at >= l.judged:
			l.tag(w, at)
		}
	}
	if l.dark > 0 {
		l.add(l.dark, len(text))
	}
	l.far()
	return l.merged()
}

// laid collects the parts of a text.
type laid struct {
	text   string
	parts  [][2]int
	lines  next
	tags   next
	judged int              // the tag before ends here
	dark   int              // since here a terminal shows nothing; 0: it shows all
	ends   map[string][]int // where elements end, by name
}

func (l *laid) add(at, end int) {
	if end = min(end, len(l.text)); at < end {
		l.parts = append(l.parts, [2]int{at, end})
	}
}

// merged are the parts in their order, those that overlap as one.
func (l *laid) merged() (out []place) {
	slices.SortFunc(l.parts, func(a, b [2]int) int { return a[0] - b[0] })
	for i := 0; i < len(l.parts); {
		at, end := l.parts[i][0], l.parts[i][1]
		for i++; i < len(l.parts) && l.parts[i][0] < end; i++ {
			end = max(end, l.parts[i][1])
		}
		out = append(out, place{at, l.text[at:end]})
	}
	return out
}

// next finds a character, and looks at nothing twice.
type next struct {
	text, of string
	at       int // where it was found last
	known    bool
}

// from is where the next one is; the end of the text if there is none. Places are asked for in their
// order.
func (n *next) from(at int) int {
	if n.known && n.at >= at {
		return n.at
	}
	i := strings.IndexAny(n.text[at:], n.of)
	if n.at, n.known = at+i, true; i < 0 {
		n.at = len(n.text)
	}
	return n.at
}

// tag judges one that begins at a place. What begins inside of a tag is part of it.
func (l *laid) tag(w *work, at int) {
	end := l.tags.from(at)
	if end == len(l.text) {
		return
	}
	end++
	l.judged = end
	w.charge(end - at)
	if Concealed(l.text[at:end]) {
		l.add(end, l.within(end, strings.ToLower(tagName(l.text[at:]))))
	}
}

// within is where an element ends.
func (l *laid) within(at int, name string) int {
	if l.ends == nil {
		l.ends = map[string][]int{}
		for i := 0; ; i += 2 {
			n := strings.Index(l.text[i:], "</")
			if n < 0 {
				break
			}
			i += n
			of := strings.ToLower(tagName(l.text[i+1:]))
			l.ends[of] = append(l.ends[of], i)
		}
	}
	ends := l.ends[name]
	if i, _ := slices.BinarySearch(ends, at); i < len(ends) {
		return ends[i]
	}
	return at + unclosed
}

// terminal follows the attributes of a terminal: 8 conceals what comes, 0 and 28 end that.
func (l *laid) terminal(at int) {
	n := sequence(l.text[at:])
	if n == 0 || l.text[at+n-1] != 'm' {
		return
	}
	for p := range strings.SplitSeq(l.text[at+2:at+n-1], ";") {
		switch p = strings.TrimLeft(p, "0"); {
		case p == "8" && l.dark == 0:
			l.dark = at + n
		case (p == "" || p == "28") && l.dark > 0:
			l.add(l.dark, at)
			l.dark = 0
		}
	}
}

// Comments finds those of a page. One without an end goes to the end.
func Comments(text string) [][2]int {
	var out [][2]int
	for at := 0; ; {
		begin := strings.Index(text[at:], "<!--")
		if begin < 0 {
			return out
		}
		begin += at
		end := strings.Index(text[begin+4:], "-->")
		if end < 0 {
			return append(out, [2]int{begin, len(text)})
		}
		at = begin + 4 + end + 3
		out = append(out, [2]int{begin, at})
	}
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func tagName(s string) string {
	end := 1
	for end < len(s) && end < 32 && (letter(s[end]) || '0' <= s[end] && s[end] <= '9') {
		end++
	}
	return s[1:end]
}

// Concealed holds for a tag whose content is not seen.
func Concealed(tag string) bool {
	low := strings.ToLower(tag)
	rest := low[1+len(tagName(low)):]
	for i := strings.Index(rest, "hidden"); i > 0; {
		after := rest[i+len("hidden"):]
		if blankByte(rest[i-1]) && (after == "" || blankByte(after[0]) || after[0] == '>' || after[0] == '=' || after[0] == '/') {
			return true
		}
		next := strings.Index(after, "hidden")
		if next < 0 {
			break
		}
		i += len("hidden") + next
	}
	if strings.HasPrefix(low, "<font") && (strings.Contains(low, "color=\"white\"") || strings.Contains(low, "color=\"#fff")) {
		return true
	}
	for {
		i := strings.Index(low, "style")
		if i < 0 {
			return false
		}
		low = strings.TrimLeft(low[i+len("style"):], " \t\r\n")
		value, ok := strings.CutPrefix(low, "=")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, " \t\r\n")
		end := strings.IndexAny(value, " \t\r\n>")
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			quote := value[:1]
			value = value[1:]
			end = strings.Index(value, quote)
		}
		if end < 0 {
			end = len(value)
		}
		if concealing(value[:end]) {
			return true
		}
		low = value[end:]
	}
}

func blankByte(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '"' || c == '\''
}

// concealing judges the declarations of a style.
func concealing(style string) bool {
	has := map[string]string{}
	for d := range strings.SplitSeq(style, ";") {
		name, value, _ := strings.Cut(d, ":")
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		if name = strings.TrimSpace(name); name != "" {
			has[name] = value
		}
	}
	colour, ground := has["color"], has["background-color"]
	if ground == "" {
		ground = has["background"]
	}
	white := func(c string) bool {
		return c == "white" || c == "#fff" || c == "#ffffff" || strings.ReplaceAll(c, " ", "") == "rgb(255,255,255)"
	}
	switch {
	case has["display"] == "none", has["visibility"] == "hidden", number(has["opacity"]) == 0, tiny(has["font-size"]), colour == "transparent":
		return true
	case colour != "" && colour == ground, white(colour) && (ground == "" || white(ground)):
		return true
	case has["overflow"] == "hidden" && (tiny(has["height"]) || tiny(has["width"]) || tiny(has["max-height"])):
		return true
	}
	return away(has["left"]) || away(has["top"]) || away(has["text-indent"]) || away(has["margin-left"]) || away(has["right"])
}

// number reads one from the beginning of a value; -1 where there is none.
func number(s string) float64 {
	end := 0
	for end < len(s) && ('0' <= s[end] && s[end] <= '9' || s[end] == '.') {
		end++
	}
	if end == 0 {
		return -1
	}
	out, scale, dot := 0.0, 1.0, false
	for _, c := range []byte(s[:min(end, 9)]) {
		switch {
		case c == '.':
			dot = true
		case dot:
			scale /= 10
			out += float64(c-'0') * scale
		default:
			out = out*10 + float64(c-'0')
		}
	}
	return out
}

// tiny holds for a length that nobody can read.
func tiny(s string) bool {
	n := number(s)
	return n == 0 || n > 0 && n <= 2 && (strings.HasSuffix(s, "px") || strings.HasSuffix(s, "pt") || strings.HasSuffix(s, "%") || n <= 0.1)
}

// away holds for a place outside of the page.
func away(s string) bool { return strings.HasPrefix(s, "-") && number(s[1:]) >= 999 }

// What is so far away that nobody scrolls to it.
const (
	FarLines = 80  // without a word are more than a screen
	FarSpace = 160 // a table may be wide; nobody aligns by so much
)

// far adds the parts that stand far to the right.
func (l *laid) far() {
	lines := next{text: l.text, of: "\n"}
	run := 0
	for i := range len(l.text) {
		switch c := l.text[i]; {
		case c == ' ' || c == '\t':
			run++
		case c == '\n' || c == '\r':
			run = 0
		default:
			if run >= FarSpace {
				l.add(i, lines.from(i))
			}
			run = 0
		}
	}
}
