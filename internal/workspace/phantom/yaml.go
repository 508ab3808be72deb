package phantom

import (
	"strings"
)

// level is a key of YAML and how far it is indented.
type level struct {
	indent int
	key    key
}

// yamlMask goes over YAML line by line. It knows what people write in files of
// settings; of all else it shows that a line was there.
type yamlMask struct {
	*masker
	lines
	above  []level
	sealed bool // it is a Secret of Kubernetes: all data is secret
}

var (
	yamlKey   = lazily(`^("[^"\\]*"|'[^']*'|[A-Za-z0-9_.$/@<*(-][^:#"'{}\[\]]*?|[A-Za-z0-9_.$/@-][A-Za-z0-9_.$/@:-]*?)[ \t]*:(?:[ \t]+|$)`)
	yamlBlock = lazily(`^[|>][-+1-9]{0,2}$`)
	yamlTag   = lazily(`^(?:!!(?:str|int|bool|float|binary|map|seq|null|set)|!(?:vault|secret|env_var|include|reference|Ref|Sub|GetAtt|Join|ImportValue|Base64))(?:[ \t]+|$)`)
	yamlName  = lazily(`^([&*])([A-Za-z0-9_-]{1,64})(?:[ \t]+|$)`)
	yamlMark  = lazily(`^(---|\.\.\.|%YAML 1\.[0-9]|--- !!?map)$`)
)

const vaultHeader = "$ANSIBLE_VAULT;"

// yamlFile is for all YAML. A file that ansible-vault encrypted is no secret.
func (m *masker) yamlFile(s string) (string, Kind) {
	if strings.HasPrefix(s, vaultHeader) {
		head, body, _ := strings.Cut(s, "\n")
		if len(head) < 80 && allIn(head, alnums+"$;._-\r") && allIn(body, hexes+"\r\n") {
			return s, None
		}
		return "", Empty
	}
	y := &yamlMask{masker: m, lines: lines{rest: s}, sealed: strings.Contains(s, "kind: Secret")}
	for {
		line, end, ok := y.next()
		if !ok || m.spent() {
			return y.out.String(), Values
		}
		y.write(y.line(line), end)
	}
}

// yarnFile: without a login it is configuration and stays.
func (m *masker) yarnFile(s string) (string, Kind) {
	for line := range strings.Lines(s) {
		f := yamlKey.FindStringSubmatch(strings.TrimLeft(line, " -"))
		if f != nil && (key{}).child(f[1]).secret {
			return m.yamlFile(s)
		}
	}
	return s, None
}

func (y *yamlMask) line(line string) string {
	bare := strings.TrimLeft(line, " ")
	indent := len(line) - len(bare)
	bare = strings.TrimRight(bare, " \t")
	switch {
	case bare == "":
		return ""
	case bare[0] == '#':
		return line[:indent] + y.commentLine(bare)
	case yamlMark.MatchString(bare) || reference.MatchString(bare):
		return line[:indent] + bare
	}
	dashes := 0
	for strings.HasPrefix(bare, "- ") || bare == "-" {
		n := len(bare) - len(strings.TrimLeft(bare[1:], " "))
		dashes, bare = dashes+n, bare[n:]
	}
	for len(y.above) > 0 && y.above[len(y.above)-1].indent >= indent+dashes {
		y.above = y.above[:len(y.above)-1]
	}
	around := key{}
	if n := len(y.above); n > 0 {
		around = y.above[n-1].key
	}
	head := line[:indent+dashes]
	if bare == "" {
		return head
	}
	f := yamlKey.FindStringSubmatch(bare)
	if f == nil && dashes == 0 {
		return "#" // the rest of a value, or what is not understood
	}
	if f == nil {
		return head + y.value(around, bare, indent)
	}
	k := y.child(around, f[1])
	y.above = append(y.above, level{indent + dashes, k})
	rest := bare[len(f[0]):]
	if rest == "" {
		return head + y.shownKey(around, f[1]) + ":"
	}
	return head + y.shownKey(around, f[1]) + ": " + y.value(k, rest, indent+dashes)
}

func (y *yamlMask) child(around key, raw string) key {
	name := strings.Trim(raw, `"'`)
	k := around.child(name)
	if y.sealed && (name == "data" || name == "stringData") {
		k.below = true
	}
	return k
}

func (y *yamlMask) shownKey(around key, raw string) string {
	name := strings.Trim(raw, `"'`)
	if raw == "<<" || proper(name) {
		return raw
	}
	return quoteJSON(y.opaque(around, name))
}

// commentLine is a comment. A setting that was taken out stays one.
func (y *yamlMask) commentLine(s string) string {
	body := strings.TrimLeft(s, "# ")
	mark := s[:len(s)-len(body)]
	f := yamlKey.FindStringSubmatch(body)
	if f == nil || strings.Contains(f[1], " ") || !proper(strings.Trim(f[1], `"'`)) || len(f[0]) == len(body) {
		return mark + y.comment(body)
	}
	v, comment := cutComment(body[len(f[0]):], "#")
	k := key{}.child(f[1])
	if !k.secret && strings.Contains(v, " ") {
		return mark + y.comment(body) // "Note: this is prose"
	}
	return mark + f[0] + y.yamlScalar(k, strings.Trim(v, `"'`), "", true) + y.after(comment)
}

// value is what follows a key or a dash.
func (y *yamlMask) value(k key, s string, indent int) string {
	head := ""
	for {
		if t := yamlTag.FindString(s); t != "" {
			head, s = head+t, s[len(t):]
			continue
		}
		f := yamlName.FindStringSubmatch(s)
		if f == nil || !label(f[2]) || f[1] == "*" && !y.anchors[f[2]] || f[1] == "&" && k.secret && len(f[0]) == len(s) {
			break
		}
		y.anchors[f[2]] = y.anchors[f[2]] || f[1] == "&"
		head, s = head+f[0], s[len(f[0]):]
	}
	if s == "" {
		return head
	}
	v, comment := cutComment(s, "#")
	switch {
	case v == "":
		return head + strings.TrimPrefix(y.after(comment), " ")
	case reference.MatchString(v):
		return head + v + y.after(comment)
	case yamlBlock.MatchString(v):
		return head + v + y.block(k, indent)
	case s[0] == '"' || s[0] == '\'':
		return head + y.inQuotes(k, s)
	case s[0] == '{' || s[0] == '[':
		return head + y.flowLines(k, s)
	}
	return head + y.yamlScalar(k, v, "", true) + y.after(comment)
}
