package environ

import (
	"fmt"
	"io"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

// maxFile bounds an env file. The project's is hostile until trusted, and is
// parsed before that, to be shown.
const maxFile = 64 << 10

// ParseFile reads an env file. Each line is blank, a comment, or
//
//	[export] NAME=VALUE  [# comment]
//
// VALUE is bare, 'verbatim', or "with \\ \" \$ \` \n \r \t". Nothing is expanded, and
// what a shell would expand or read otherwise is an error rather than a guess: a
// line NAME=VALUE that is accepted means the same to sh, but for \n, \r and \t in
// double quotes and a CR before the end of the line, which is dropped.
// Values are bytes; NUL is an error, and so is a name given twice.
//
// Errors carry file and line and underline the name. They never show a
// value, nor a line that has no valid name: it may be a piece of a secret.
func ParseFile(r io.Reader, name string) ([]policy.Setting, error) {
	source := policy.Source{File: name}
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", source, err)
	}
	if len(data) > maxFile {
		return nil, fault.New(fault.Usage, "", "%s: larger than %d bytes", source, maxFile)
	}
	var settings []policy.Setting
	lines := map[string]int{}
	for text := range strings.Lines(string(data)) {
		source.Line++
		l := parseLine(text)
		if first := lines[l.name]; l.mistake == "" && first != 0 {
			l.mistake = fmt.Sprintf("already given in line %d", first)
		}
		if l.mistake != "" {
			return nil, l.complain(source)
		}
		if l.name != "" {
			lines[l.name] = source.Line
			settings = append(settings, policy.Setting{Name: l.name, Value: l.value, Source: source})
		}
	}
	return settings, nil
}

// line is a parsed line: nothing, a setting, or a mistake.
type line struct {
	name, value string // name is valid or empty
	mistake     string
}

func parseLine(text string) line {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if strings.Contains(text, "\x00") {
		return line{mistake: "a NUL byte"}
	}
	rest := strings.TrimLeft(text, blank)
	if rest == "" || rest[0] == '#' {
		return line{}
	}
	if after, ok := strings.CutPrefix(rest, "export"); ok && after != "" && strings.Contains(blank, after[:1]) {
		rest = strings.TrimLeft(after, blank)
	}
	name, value, ok := strings.Cut(rest, "=")
	if !ok {
		return line{mistake: "no = in the line; NAME=VALUE is wanted"}
	}
	if !validName(name) {
		return line{mistake: "no valid name before the ="}
	}
	l := line{name: name}
	l.value, l.mistake = parseValue(value)
	return l
}

func (l line) complain(at policy.Source) error {
	const hint = `write NAME=VALUE, NAME='verbatim' or NAME="with \" \\ \$ \n"`
	if l.name == "" {
		return fault.New(fault.Usage, hint, "%s: %s", at, l.mistake)
	}
	return fault.New(fault.Usage, hint, "%s: %s\n%5d | %s=…\n%5s | ^%s",
		at, l.mistake, at.Line, l.name, "", strings.Repeat("~", len(l.name)-1))
}
