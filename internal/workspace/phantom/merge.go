package phantom

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Merged is what becomes of a file of secrets that was changed inside.
type Merged struct {
	Data    []byte
	New     []string // keys that are new
	Changed []string // keys whose value is another
	Stay    []string // keys that were deleted inside: those stay
}

// Merge brings the changes of a file that showed phantoms to the real one, key by key:
// what still has its phantom keeps the real value, which nobody inside has seen. Every
// line of the three texts must be understood, or it is an error: the real file is not
// written on a guess.
func Merge(rel string, real, phantom, changed []byte) (*Merged, error) {
	base := strings.ToLower(rel[strings.LastIndexByte(rel, '/')+1:])
	if !envName(base) && !strings.HasPrefix(base, ".dev.vars") {
		return nil, errors.New("it is not of the form KEY=value")
	}
	var texts [3]*envText
	for i, data := range [][]byte{real, phantom, changed} {
		t, err := readEnv(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", []string{"the file of the host", "what stood for it", "what was made of it"}[i], err)
		}
		texts[i] = t
	}
	return merge(texts[0], texts[1], texts[2])
}

func merge(host, was, now *envText) (*Merged, error) {
	out := &Merged{}
	above := 0 // comments that come with the next new key begin here
	for i, l := range now.lines {
		if l.key == "" {
			continue
		}
		old, known := was.at[l.key]
		at, there := host.at[l.key]
		switch {
		case known && was.lines[old].text == l.text:
		case IsPhantom([]byte(l.text)):
			return nil, fmt.Errorf("%s was given a value that stands for another secret", l.key)
		case strings.Contains(l.text, "$(") || !inertValue().MatchString(strings.TrimRight(l.text[strings.IndexByte(l.text, '=')+1:], " \t")):
			return nil, fmt.Errorf("%s was given a value that some programs would run, or fill with others: one word or one text in quotes can be taken", l.key)
		case known && there:
			host.lines[at].text = l.text
			out.Changed = append(out.Changed, l.key)
		case known || there:
			return nil, fmt.Errorf("%s was changed on the host meanwhile", l.key)
		default:
			for _, c := range now.lines[above:i] {
				if !was.has(c.text) {
					host.lines = append(host.lines, c)
				}
			}
			host.lines = append(host.lines, l)
			out.New = append(out.New, l.key)
		}
		above = i + 1
	}
	for _, l := range was.lines {
		if _, ok := now.at[l.key]; l.key != "" && !ok {
			out.Stay = append(out.Stay, l.key)
		}
	}
	var b strings.Builder
	for _, l := range host.lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	out.Data = []byte(b.String())
	return out, nil
}

// envText is a text of assignments, a line each.
type envText struct {
	lines []envLine
	at    map[string]int // of a key
	texts map[string]bool
}

type envLine struct {
	key  string // "" for a blank line or a comment
	text string
}

func (t *envText) has(text string) bool { return t.texts[text] }

// plainValue is one that all readers of such files take for the same: without quotes
// and backslashes, or in one pair of quotes with neither in it.
var plainValue = lazily("^(?:[^'\"`\\\\\\s#][^'\"`\\\\#]*|\"[^\"\\\\`$]*\"|'[^'\\\\]*')?$")

// inertValue is one that may come from inside. A shell reads such files too, and takes
// what is after a blank or a semicolon for a command.
var inertValue = lazily("^(?:[^'\"`\\\\#;&|<>()$\\x00-\\x20\\x7f]*|\"[^\"\\\\`$]*\"|'[^'\\\\]*')$")

var envAssignment = lazily(`^(?:export )?([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

// unprinted holds for what moves a terminal's cursor, and for blanks that only some
// readers take for one: to a shell a # after such a blank begins no comment.
func unprinted(r rune) bool {
	return r != ' ' && r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r))
}

func readEnv(data []byte) (*envText, error) {
	if len(data) > maxFile || !utf8.Valid(data) || strings.ContainsFunc(string(data), unprinted) {
		return nil, errors.New("it is too large, or not plain text")
	}
	t := &envText{at: map[string]int{}, texts: map[string]bool{}}
	for line := range strings.Lines(string(data)) {
		l := envLine{text: strings.TrimSuffix(line, "\n")}
		if bare := strings.Trim(l.text, " \t"); bare != "" && bare[0] != '#' {
			f := envAssignment().FindStringSubmatch(l.text)
			if f == nil || !plainValue().MatchString(strings.TrimRight(f[2], " \t")) {
				return nil, errors.New("it has a line that is not one plain KEY=value")
			}
			if l.key = f[1]; t.texts["\x00"+l.key] {
				return nil, fmt.Errorf("%s stands there twice", l.key)
			}
			t.texts["\x00"+l.key] = true
			t.at[l.key] = len(t.lines)
		}
		t.texts[l.text] = true
		t.lines = append(t.lines, l)
	}
	return t, nil
}
