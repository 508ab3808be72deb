package phantom

import "strings"

// inQuotes is a text in quotes, over several lines if need be.
func (y *yamlMask) inQuotes(k key, s string) string {
	quote := s[:1]
	rest, doubled := s, quote == "'"
	if doubled {
		rest = strings.ReplaceAll(s, "''", "\x00\x00")
	}
	was := y.rest
	inner, tail, ok := y.quoted(rest, quote, !doubled, true)
	tail = strings.TrimSpace(tail)
	if !ok || tail != "" && tail[0] != '#' {
		y.rest = was
		return quoteJSON(y.opaque(k, s))
	}
	inner = strings.ReplaceAll(inner, "\x00\x00", "'")
	if !doubled {
		inner = unescape(inner)
	}
	return y.yamlScalar(k, inner, quote, true) + y.after(tail)
}

// block is a text of its own lines, each further indented than its key.
func (y *yamlMask) block(k key, indent int) string {
	var body []string
	inner := -1
	for y.rest != "" {
		was := y.rest
		line, _, _ := y.next()
		bare := strings.TrimLeft(line, " ")
		n := len(line) - len(bare)
		if bare != "" && n <= indent {
			y.rest = was
			break
		}
		if bare != "" && inner < 0 {
			inner = n
		}
		body = append(body, strings.TrimSpace(line))
	}
	if inner < 0 {
		return ""
	}
	var b strings.Builder
	for _, line := range y.blockLines(k, body) {
		b.WriteString("\n")
		if line != "" {
			b.WriteString(strings.Repeat(" ", inner) + line)
		}
	}
	return b.String()
}

// blockLines replaces the lines of a block: all of a key at once, else one by one.
func (y *yamlMask) blockLines(k key, body []string) []string {
	all := strings.Join(body, "\n")
	if strings.Contains(all, "-----BEGIN") {
		return strings.Split(strings.TrimSuffix(y.pemValue(all), "\n"), "\n")
	}
	out := make([]string, len(body))
	for i, line := range body {
		if line != "" {
			out[i] = y.value1(k, line)
		}
	}
	return out
}

// value1 is one line of a block.
func (y *yamlMask) value1(k key, line string) string {
	if name, v, ok := strings.Cut(line, "="); ok && proper(name) && y.keep(name) {
		return name + "=" + strings.ReplaceAll(y.masker.value(k.child(name), v), "\n", `\n`)
	}
	return strings.ReplaceAll(y.masker.value(k, line), "\n", `\n`)
}

// maxFlow bounds the lines between brackets.
const maxFlow = 200

// flowLines is a list or a map within brackets, over several lines if need be.
func (y *yamlMask) flowLines(k key, s string) string {
	was := y.rest
	v, comment := cutComment(s, "#")
	depth := brackets(v)
	for n := 0; depth > 0 && n < maxFlow && y.rest != ""; n++ {
		y.work++
		line, _, _ := y.next()
		line, comment = cutComment(strings.TrimSpace(line), "#")
		v += " " + line
		depth += brackets(line)
	}
	if out, ok := y.flow(k, v, true); ok {
		return out + y.after(comment)
	}
	y.rest = was
	return quoteJSON(y.opaque(k, s))
}

// brackets is how many more open than close. Those in quotes are rare and count too.
func brackets(s string) int {
	return strings.Count(s, "[") + strings.Count(s, "{") - strings.Count(s, "]") - strings.Count(s, "}")
}

// yamlScalar writes a value again as it was written: in the same quotes, or without
// any if nothing but a string can be read from it.
func (m *masker) yamlScalar(k key, v, quote string, yaml bool) string {
	out := m.value(k, v)
	switch {
	case quote == "'" && !strings.Contains(out, "\n"):
		return "'" + strings.ReplaceAll(out, "'", "''") + "'"
	case quote != "":
		return `"` + escape(out, false) + `"`
	case out == v && !strings.Contains(v, "\n"), numberForm.MatchString(out):
		return out
	case yaml && out != "" && isLower(out[0]|0x20) && allIn(out, alnums+"_./@-"):
		return out
	}
	return quoteJSON(out)
}
