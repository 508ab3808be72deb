package phantom

import "strings"

var (
	yamlBlock = lazily(`^[|>][-+1-9]{0,2}$`)
	yamlTag   = lazily(`^(?:!!(?:str|int|bool|float|binary|map|seq|null|set)|!(?:vault|secret|env_var|include|reference|Ref|Sub|GetAtt|Join|ImportValue|Base64))(?:[ \t]+|$)`)
	yamlName  = lazily(`^([&*])([A-Za-z0-9_-]{1,64})(?:[ \t]+|$)`)
	yamlMark  = lazily(`^(---|\.\.\.|%YAML 1\.[0-9]|--- !!?map)$`)
)

// dashes tells how much of a line is for elements of lists, and leaves the keys that the
// line is not below.
func (r *reader) dashes(bare string, indent int) int {
	dashes := 0
	for rest := bare; strings.HasPrefix(rest, "- ") || rest == "-"; rest = bare[dashes:] {
		dashes += len(rest) - len(strings.TrimLeft(rest[1:], " "))
	}
	for len(r.above) > 0 && r.above[len(r.above)-1].indent >= indent+dashes {
		r.above = r.above[:len(r.above)-1]
	}
	return dashes
}

// marks shows the tags and names before a value, and tells where that begins.
func (r *reader) marks(k key, from int) int {
	for {
		s := strings.TrimRight(r.in[from:r.at], " \t")
		if t := yamlTag().FindString(s); t != "" {
			r.write(t)
			from += len(t)
			continue
		}
		f := yamlName().FindStringSubmatch(s)
		if f == nil || !label(f[2]) || f[1] == "*" && !r.anchors[f[2]] || f[1] == "&" && k.secret && len(f[0]) == len(s) {
			return from
		}
		r.anchors[f[2]] = r.anchors[f[2]] || f[1] == "&"
		r.write(f[0])
		from += len(f[0])
	}
}

// block is a text of its own lines, each further indented than its key.
func (r *reader) block(k key, indent int) {
	var body []string
	inner := -1
	for next := r.next(r.at); next < len(r.in); next = r.next(r.at) {
		line := r.line(next)
		bare := strings.TrimLeft(line, " ")
		n := len(line) - len(bare)
		if bare != "" && n <= indent {
			break
		}
		if bare != "" && inner < 0 {
			inner = n
		}
		body = append(body, strings.TrimSpace(line))
		r.at = next + len(line)
	}
	if inner < 0 {
		return
	}
	for _, line := range r.blockLines(k, body) {
		r.write("\n")
		if line != "" {
			r.write(strings.Repeat(" ", inner), line)
		}
	}
}

// blockLines replaces the lines of a block: all of a key at once, else one by one.
func (r *reader) blockLines(k key, body []string) []string {
	all := strings.Join(body, "\n")
	if strings.Contains(all, "-----BEGIN") {
		return strings.Split(strings.TrimSuffix(r.pemValue(all), "\n"), "\n")
	}
	for i, line := range body {
		name, v, ok := strings.Cut(line, "=")
		switch {
		case line == "":
		case ok && proper(name) && r.keep(name):
			body[i] = name + "=" + strings.ReplaceAll(r.value(k.child(name), v), "\n", `\n`)
		default:
			body[i] = strings.ReplaceAll(r.value(k, line), "\n", `\n`)
		}
	}
	return body
}
