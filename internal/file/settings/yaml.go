package settings

import (
	"errors"
	"fmt"
	"strings"
)

// YAML reads the plain part of YAML that settings of package managers are written in:
// mappings and lists by indentation, with scalars of one line. A scalar that is quoted, or
// that no reader takes for anything but text, is a String. What this reader does not know
// (anchors, tags, flow collections, blocks of text) is a Word as it is written, with its
// lines: who needs that value finds that it is no string, and says so.
//
// Text that is no such tree is an error, as are a tab in the indentation and a name that
// stands twice.
func (r Rules) YAML(text []byte) (*Node, error) {
	if err := OneReading(text); err != nil {
		return nil, err
	}
	y := &yamlReader{rules: r}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimRight(line, " \r")
		body := strings.TrimLeft(line, " ")
		if body == "" || body[0] == '#' || i == 0 && body == "---" {
			continue
		}
		if body[0] == '\t' || body == "---" || body == "..." || strings.HasPrefix(body, "%") {
			return nil, y.wrong(i+1, "no plain YAML")
		}
		y.lines = append(y.lines, yamlLine{len(line) - len(body), body, i + 1})
	}
	root := &Node{Kind: Object}
	if len(y.lines) == 0 {
		return root, nil
	}
	if err := y.block(root, y.lines[0].indent, 0); err != nil {
		return nil, err
	}
	if y.at < len(y.lines) {
		return nil, y.wrong(y.lines[y.at].number, "indented like nothing above")
	}
	return root, nil
}

type yamlLine struct {
	indent int
	text   string
	number int
}

type yamlReader struct {
	rules Rules
	lines []yamlLine
	at    int
	nodes int
}

func (y *yamlReader) wrong(line int, what string) error { return fmt.Errorf("line %d: %s", line, what) }

// block reads the mapping or the list whose entries have this indentation.
func (y *yamlReader) block(n *Node, indent, deep int) error {
	if deep > y.rules.Depth {
		return errDeep
	}
	n.Kind = Object
	if isItem(y.lines[y.at].text) {
		n.Kind = Array
	}
	names := map[string]bool{}
	for y.at < len(y.lines) && y.lines[y.at].indent == indent && isItem(y.lines[y.at].text) == (n.Kind == Array) {
		if y.nodes++; y.nodes > y.rules.Nodes {
			return errMany
		}
		kid := &Node{Line: y.lines[y.at].number}
		var err error
		if n.Kind == Array {
			err = y.item(kid, indent, deep)
		} else {
			err = y.member(kid, indent, deep)
		}
		if err != nil {
			return err
		}
		if n.Kind == Object && names[kid.Name] {
			return y.wrong(kid.Line, "a name that stands twice")
		}
		names[kid.Name] = true
		n.Kids = append(n.Kids, kid)
	}
	return nil
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// item reads an element of a list. What stands behind its dash may begin a mapping.
func (y *yamlReader) item(n *Node, indent, deep int) error {
	line := &y.lines[y.at]
	rest := strings.TrimLeft(line.text[1:], " ")
	if rest == "" {
		y.at++
		return y.below(n, indent, deep)
	}
	if _, _, ok := cutName(rest); ok || isItem(rest) {
		line.indent += len(line.text) - len(rest)
		line.text = rest
		return y.block(n, line.indent, deep+1)
	}
	y.at++
	return y.scalar(n, rest, indent)
}

func (y *yamlReader) member(n *Node, indent, deep int) error {
	line := y.lines[y.at]
	name, rest, ok := cutName(line.text)
	if !ok {
		return y.wrong(line.number, "neither a name nor an element")
	}
	y.at++
	n.Name = name
	if rest != "" {
		return y.scalar(n, rest, indent)
	}
	if y.at < len(y.lines) && y.lines[y.at].indent == indent && isItem(y.lines[y.at].text) {
		return y.block(n, indent, deep+1) // a list may stand as far out as its name
	}
	return y.below(n, indent, deep)
}

// below reads what is indented further; nothing is null.
func (y *yamlReader) below(n *Node, indent, deep int) error {
	if y.at == len(y.lines) || y.lines[y.at].indent <= indent {
		n.Kind, n.Text = Word, ""
		return nil
	}
	return y.block(n, y.lines[y.at].indent, deep+1)
}

// scalar reads a value of one line, and takes what belongs to one that is none.
func (y *yamlReader) scalar(n *Node, text string, indent int) error {
	from := y.at
	for y.at < len(y.lines) && y.lines[y.at].indent > indent {
		y.at++
	}
	n.Kind, n.Text = Word, text
	if y.at > from {
		return nil
	}
	value, err := yamlScalar(text)
	if err == nil {
		n.Kind, n.Text = String, value
	}
	return nil
}

var errScalar = errors.New("no plain scalar")

// yamlScalar is the text of a scalar. Escapes are not known but for the quote itself: what
// has another is no text that this reader vouches for.
func yamlScalar(text string) (string, error) {
	switch text[0] {
	case '"':
		value, rest, ok := strings.Cut(text[1:], `"`)
		if !ok || strings.Contains(value, `\`) || !isComment(rest) {
			return "", errScalar
		}
		return value, nil
	case '\'':
		value, rest, ok := strings.Cut(text[1:], `'`)
		if !ok || !isComment(rest) {
			return "", errScalar
		}
		return value, nil
	case '&', '*', '!', '|', '>', '[', '{', ']', '}', '%', '@', '`', ',', '?', '#':
		return "", errScalar
	}
	value := text
	if i := strings.Index(text, " #"); i >= 0 {
		value = strings.TrimRight(text[:i], " ")
	}
	switch strings.ToLower(value) {
	case "null", "~", "true", "false", "yes", "no", "on", "off":
		return "", errScalar
	}
	if _, _, ok := cutName(value); ok || isItem(value) {
		return "", errScalar
	}
	return value, nil
}

func isComment(rest string) bool {
	rest = strings.TrimLeft(rest, " ")
	return rest == "" || rest[0] == '#'
}

// cutName takes the name before a colon from a line. A colon within a word is part of it.
func cutName(text string) (name, rest string, ok bool) {
	if text[0] == '"' || text[0] == '\'' {
		name, rest, ok = strings.Cut(text[1:], text[:1])
		if !ok || strings.Contains(name, `\`) || !strings.HasPrefix(rest, ":") {
			return "", "", false
		}
		rest = rest[1:]
	} else if i := strings.Index(text, ": "); i > 0 {
		name, rest = text[:i], text[i+1:]
	} else if name, ok = strings.CutSuffix(text, ":"); !ok {
		return "", "", false
	}
	if rest != "" && rest[0] != ' ' || strings.ContainsAny(name[:min(1, len(name))], "&*!|>[]{}%@`,?#") && text[0] == name[0] {
		return "", "", false
	}
	rest = strings.TrimLeft(rest, " ")
	if rest != "" && rest[0] == '#' {
		rest = ""
	}
	return name, rest, true
}
