package hostexec

import (
	"errors"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/injection"
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
func Blank(r rune) bool { return unicode.IsSpace(r) || injection.Invisible(r) }

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
