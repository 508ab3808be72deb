package injection

import "strings"

// place is a part of a text, and where it is.
type place struct {
	at   int
	text string
}

// Bounds of what is looked for in one piece.
const (
	maxPlaces = 256
	maxPlace  = 16 << 10
	maxTag    = 4 << 10
)

// places are the parts that an agent reads and a person does not see.
func places(text string) (out []place) {
	budget := 2 * len(text) // elements lie in each other; nobody makes us read them for ever
	add := func(at, end int) {
		if end = min(end, at+maxPlace, len(text)); at < end && len(out) < maxPlaces && budget > 0 {
			budget -= end - at
			out = append(out, place{at, text[at:end]})
		}
	}
	closes := 0 // where the next tag ends
	for _, c := range Comments(text) {
		add(c[0]+4, c[1])
	}
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "<[\x1b")
		if i < 0 {
			break
		}
		at += i
		rest := text[at:]
		switch {
		case rest[0] == '\x1b' && strings.HasPrefix(rest, "\x1b[8m"):
			end := strings.Index(rest[4:], "\x1b[")
			if end < 0 {
				end = len(rest) - 4
			}
			add(at+4, at+4+end)
		case rest[0] == '[' && (strings.HasPrefix(rest, "[//]: #") || strings.HasPrefix(strings.ToLower(rest[:min(len(rest), 12)]), "[comment]:")):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			add(at+7, at+end)
		case rest[0] == '<':
			if closes <= at {
				if closes = at + strings.IndexByte(rest, '>') + 1; closes == at {
					closes = len(text) + 1
				}
			}
			n := closes - at
			if n <= maxTag && n < len(rest) && letter(rest[1]) && len(out) < maxPlaces && budget > 0 && Concealed(rest[:n]) {
				add(at+n, at+n+within(rest[n:], tagName(rest)))
			}
		}
		at++
	}
	return append(out, far(text)...)
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

// within is how far an element goes: to its end, or to the end of what is looked at.
func within(s, name string) int {
	s = s[:min(len(s), maxPlace)]
	for at := 0; ; at += 2 {
		i := strings.Index(s[at:], "</")
		if i < 0 {
			return len(s)
		}
		at += i
		if n := len(name); at+2+n <= len(s) && strings.EqualFold(s[at+2:at+2+n], name) {
			return at
		}
	}
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
	i := strings.Index(low, "style")
	if i < 0 {
		return false
	}
	value := strings.TrimLeft(low[i+len("style"):], " \t\r\n")
	if value == "" || value[0] != '=' {
		return false
	}
	value = strings.TrimLeft(value[1:], " \t\r\n")
	if value == "" || value[0] != '"' && value[0] != '\'' {
		return false
	}
	end := strings.IndexByte(value[1:], value[0])
	if end < 0 {
		end = len(value) - 1
	}
	return concealing(value[1 : 1+end])
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
		has[strings.TrimSpace(name)] = value
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

// far are the parts that stand far to the right.
func far(text string) (out []place) {
	run := 0
	for i := 0; i < len(text) && len(out) < maxPlaces; i++ {
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			run++
		case c == '\n' || c == '\r':
			run = 0
		default:
			if run >= FarSpace {
				end := strings.IndexByte(text[i:], '\n')
				if end < 0 {
					end = len(text) - i
				}
				out = append(out, place{i, text[i : i+min(end, maxPlace)]})
			}
			run = 0
		}
	}
	return out
}
