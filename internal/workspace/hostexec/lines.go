package hostexec

import (
	"errors"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is one line of a file of NAME=VALUE, or NAME VALUE.
type Line struct {
	N    int    // from 1
	Text string // as it is, with its end
	// Name is "" of a comment, and "?" where it cannot be read for sure.
	Name, Value string
	Err         error // readers take it apart in different ways
}

// Lines takes a file apart, as .env, .npmrc and .yarnrc are read. It errs on the side of
// more lines and more names: what any reader takes for the end of a line is one, and a
// line within quotes is a line.
func Lines(data []byte) (iter.Seq[Line], error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("a zero byte")
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return func(yield func(Line) bool) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			if !yield(lineOf(n, line)) {
				return
			}
		}
	}, nil
}

func lineOf(n int, text string) Line {
	l := Line{N: n, Text: text}
	switch {
	case !utf8.ValidString(text):
		l.Err = errors.New("not UTF-8")
	case strings.ContainsFunc(text, otherBlank): // dotenv ends a line at some of them, and skips others
		l.Err = errors.New("a character that some readers take for the end of a line, or for a blank")
	default:
		l.Name, l.Value = splitLine(text)
	}
	return l
}

// otherBlank: nobody sees it, and it is none of the blanks that all readers know.
func otherBlank(r rune) bool { return r != ' ' && r != '\t' && r != '\n' && Blank(r) }

// Blank holds for what some reader may take for white space.
func Blank(r rune) bool { return unicode.IsSpace(r) || Invisible(r) }

// Invisible: nobody sees it, in whatever place.
func Invisible(r rune) bool {
	switch {
	case r < ' ', 0x7f <= r && r < 0xa0 && r != 0x85:
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff, r == 0x180e, 0x2061 <= r && r <= 0x2064, 0x206a <= r && r <= 0x206f, r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0,
		0xe0000 <= r && r <= 0xe0fff, r == 0x2028, r == 0x2029, 0xfff9 <= r && r <= 0xfffb, 0x1d173 <= r && r <= 0x1d17a, r == 0x17b4, r == 0x17b5:
		return true
	}
	return false
}

func splitLine(line string) (name, value string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' || line[0] == ';' {
		return "", ""
	}
	if rest, ok := strings.CutPrefix(line, "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		line = strings.TrimSpace(rest)
	}
	end := strings.IndexAny(line, "= \t:")
	if strings.HasPrefix(line, "//") || strings.HasPrefix(line, "@") { // of one registry
		end = strings.IndexByte(line, '=')
	}
	if end < 0 {
		end = len(line)
	}
	name, value = strings.TrimSpace(line[:end]), strings.Trim(line[end:], "=: \t")
	if quoted := strings.Trim(name, `"'`); quoted != name {
		name = quoted
	}
	if strings.ContainsAny(name, "\\") || strings.Contains(name, "${") {
		return "?", value
	}
	return strings.TrimSuffix(name, "[]"), value
}
