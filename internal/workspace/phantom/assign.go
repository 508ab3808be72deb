package phantom

import (
	"strings"
)

// dialect is a way to write assignments, one a line.
type dialect struct {
	key      *form  // indent, key and separator
	comments string // what begins a line of comment; the first is for what is hidden
	inline   string // what begins one after a value and a blank
	quotes   string // what a value may be in
	sections bool   // [name]
	nested   bool   // lists, maps and here-documents
}

var (
	dotenv = &dialect{
		key:      lazily(`^([ \t]*(?:export[ \t]+)?)([A-Za-z_][A-Za-z0-9_.-]*)([ \t]*=[ \t]*|:[ \t]+)`),
		comments: "#", inline: "#", quotes: "\"'`"}
	ini = &dialect{
		key:      lazily(`^([ \t]*)([^=:\s\[#;!][^=:]*?|//[^=\s]+)([ \t]*[=:][ \t]*)`),
		comments: "#;!", inline: "#;", quotes: "\"'", sections: true}
	npmrc = &dialect{
		key:      lazily(`^([ \t]*)([^=\s\[#;][^=]*?)([ \t]*=[ \t]*)`),
		comments: "#;", quotes: "\"'", sections: true}
	hcl = &dialect{
		key:      lazily(`^([ \t]*)("[^"\\]*"|[A-Za-z0-9_.-]+)([ \t]*[=:][ \t]*)`),
		comments: "#/", inline: "#/", quotes: "\"'", sections: true, nested: true}
)

func (m *masker) dotenvFile(s string) (string, Kind) { return m.assignments(dotenv, s), Values }
func (m *masker) iniFile(s string) (string, Kind)    { return m.assignments(ini, s), Values }
func (m *masker) hclFile(s string) (string, Kind)    { return m.assignments(hcl, s), Values }

// npmrcFile: without a login it is configuration and stays.
func (m *masker) npmrcFile(s string) (string, Kind) {
	for line := range strings.Lines(s) {
		f := npmrc.key.FindStringSubmatch(line)
		if f == nil || strings.ContainsAny(f[2][:1], "#;") {
			continue
		}
		v := strings.TrimSpace(line[len(f[0]):])
		if (key{}).child(f[2][strings.LastIndexByte(f[2], ':')+1:]).secret && v != "" && !reference.MatchString(v) && !switches.MatchString(v) {
			return m.assignments(npmrc, s), Values
		}
	}
	return s, None
}

// assignments replaces the values of a text of lines.
func (m *masker) assignments(d *dialect, s string) string {
	l := &lines{rest: s}
	var open []key // the lists and maps around
	for {
		line, end, ok := l.next()
		if !ok || m.spent() {
			return l.out.String()
		}
		bare := strings.TrimSpace(line)
		switch {
		case bare == "":
		case strings.IndexByte(d.comments, bare[0]) >= 0:
			if f := d.key.FindString(line); f == "" || !strings.HasPrefix(bare, "//") {
				l.write(m.commented(d, line))
				break
			}
			fallthrough
		default:
			var out string
			out, open = m.assignment(d, l, line, open)
			l.write(out)
		}
		l.write(end)
	}
}

// commented is a line of comment. One that was an assignment stays one.
func (m *masker) commented(d *dialect, line string) string {
	body := strings.TrimLeft(line, " \t"+d.comments)
	mark := line[:len(line)-len(body)]
	if f := d.key.FindStringSubmatch(body); f != nil && strings.Contains(f[3], "=") && !strings.Contains(f[2], " ") && proper(f[2]) {
		out, _ := m.assignment(d, &lines{}, body, nil)
		return mark + out
	}
	return mark + m.comment(body)
}

// assignment is one line, and what belongs to its value of the following ones.
func (m *masker) assignment(d *dialect, l *lines, line string, open []key) (string, []key) {
	around := key{}
	if len(open) > 0 {
		around = open[len(open)-1]
	}
	bare := strings.TrimSpace(line)
	if d.sections && bare[0] == '[' && len(open) == 0 {
		name := strings.Trim(bare, "[]")
		if proper(strings.ReplaceAll(name, `"`, "")) && strings.HasSuffix(bare, "]") && m.keep(name) {
			return bare, open
		}
		return d.comments[:1], open
	}
	if d.nested && len(open) > 0 {
		if strings.Trim(bare, "}])") == "" || strings.Trim(bare, "}]),") == "" && strings.HasSuffix(bare, ",") {
			return bare, open[:max(len(open)-len(strings.TrimRight(bare, ",")), 0)]
		}
		if bare == "{" || bare == "[" {
			return bare, append(open, around)
		}
	}
	if f := d.key.FindStringSubmatch(line); f != nil {
		k := around.child(f[2])
		if name := strings.Trim(f[2], `"`); !proper(name) {
			f[2] = m.opaque(around, name)
		}
		out, opens := m.right(d, l, k, line[len(f[0]):])
		if opens {
			open = append(open, k)
		}
		return f[1] + f[2] + f[3] + out, open
	}
	if d.nested && len(open) > 0 {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		out, _ := m.right(d, l, around, bare)
		return indent + out, open
	}
	return d.comments[:1], open
}

// maxContinued bounds the lines of a value without quotes.
const maxContinued = 100

// right is the right side of an assignment. It tells when a list or map begins there
// that does not end on this line.
func (m *masker) right(d *dialect, l *lines, k key, s string) (string, bool) {
	s = strings.TrimRight(s, " \t")
	if s == "" {
		return "", false
	}
	if d.nested {
		if out, opens, ok := m.nested(l, k, s); ok {
			return out, opens
		}
	}
	if strings.IndexByte(d.quotes, s[0]) >= 0 {
		if out, ok := m.inQuotes(d, l, k, s); ok {
			return out, false
		}
	}
	for n := 0; strings.HasSuffix(s, `\`) && n < maxContinued; n++ { // it goes on
		line, _, ok := l.next()
		s = strings.TrimSuffix(s, `\`) + strings.TrimSpace(line)
		if !ok {
			break
		}
	}
	v, comment := cutComment(s, d.inline)
	if k.secret && v != "" {
		comment = "" // other readers take it for a part of the value
	}
	switch {
	case v == "":
		return strings.TrimPrefix(m.after(comment), " "), false
	case d.nested:
		return m.bareScalar(k, v) + m.after(comment), false
	}
	return strings.ReplaceAll(m.value(k, v), "\n", `\n`) + m.after(comment), false
}
