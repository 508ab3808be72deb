package policy

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Write prints p as a policy file in which every rule names its source. What is
// printed decodes to the same rules. A value that came by a flag and that no file
// could hold (a newline, bytes that are not UTF-8) is printed as a comment.
func Write(w io.Writer, p *Policy) error {
	var b bytes.Buffer
	for _, s := range sections() {
		var pr printer
		for i := range keys {
			if keys[i].section == s {
				pr.key(&keys[i], p)
			}
		}
		if n := findNamed(s); n != nil {
			n.print(&pr, p)
		}
		if len(pr.lines) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if !strings.HasPrefix(pr.lines[0].text, "[") { // not a table of its own
			fmt.Fprintf(&b, "[%s]\n", s)
		}
		pr.flush(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// printer collects the lines of a section, so that their sources align.
type printer struct {
	lines []struct{ text, source string }
}

func (pr *printer) add(text, source string) {
	pr.lines = append(pr.lines, struct{ text, source string }{text, source})
}

func (pr *printer) key(k *key, p *Policy) {
	switch {
	case k.list != nil:
		pr.list(k, *k.list(p))
	case k.limit != nil:
		if l := *k.limit(p); l != nil {
			text := formatLimit(k, l.Value)
			if strings.HasSuffix(text, "iB") {
				text = quote(text)
			}
			pr.add(k.name+" = "+text, l.Source.String())
		}
	case k.word != nil:
		if w := *k.word(p); w != nil {
			pr.value(k, k.name+" = ", w.Value, "", w.Source)
		}
	case k.flag != nil:
		if f := *k.flag(p); f != nil {
			pr.add(k.name+" = "+strconv.FormatBool(f.Value), f.Source.String())
		}
	default:
		pr.settings(k, *k.table.at(p))
	}
}

func (pr *printer) list(k *key, l List) {
	if l == nil {
		return
	}
	if len(l) == 0 {
		pr.add(k.name+" = []", "")
		return
	}
	pr.add(k.name+" = [", "")
	for _, r := range l {
		pr.value(k, "  ", r.Value, ",", r.Source)
	}
	pr.add("]", "")
}

func (pr *printer) settings(k *key, set []Setting) {
	if set == nil {
		return
	}
	if len(pr.lines) > 0 {
		pr.add("", "")
	}
	pr.add("["+k.section+"."+k.name+"]", "")
	for _, s := range set {
		if k.table.check(s.Name) != nil {
			pr.add(fmt.Sprintf("# %q", s.Name+"="+s.Value), s.Source.String())
			continue
		}
		name := s.Name
		if k.table.quoted {
			name = quote(name)
		}
		pr.value(k, name+" = ", s.Value, "", s.Source)
	}
}

// value adds one value between before and after, in quotes unless it is a port.
func (pr *printer) value(k *key, before, v, after string, src Source) {
	if k.admit(v) != nil {
		pr.add(fmt.Sprintf("# %s%q", before, v), src.String())
		return
	}
	text := quote(v)
	if k.form == formPorts || k.form == formPairs && !strings.Contains(v, ":") {
		text = v
	}
	pr.add(before+text+after, src.String())
}

func (pr *printer) flush(b *bytes.Buffer) {
	width := 0
	for _, l := range pr.lines {
		if l.source != "" {
			width = max(width, utf8.RuneCountInString(l.text))
		}
	}
	for _, l := range pr.lines {
		b.WriteString(l.text)
		if l.source != "" {
			b.WriteString(strings.Repeat(" ", width-utf8.RuneCountInString(l.text)) + "  # " + l.source)
		}
		b.WriteByte('\n')
	}
}

func formatLimit(k *key, n int64) string {
	if k.form == formSize {
		return formatSize(n)
	}
	return strconv.FormatInt(n, 10)
}

// quote writes s as a basic string of TOML, with escapes for all that cannot be
// seen: a path must not be able to look like another.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
