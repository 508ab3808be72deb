package policy

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"ringfence.dev/ringfence/internal/fault"
)

// Bounds of one file. A project's file is written by strangers.
const (
	maxBytes = 1 << 20
	maxRules = 4096  // of all sections but the network
	maxHosts = 16384 // of the network: lists of hosts are long
)

// Decode reads one layer strictly: an unknown key, a wrong type, a duplicate or a
// value that could not be acted on is an error that points at its place. Every
// rule carries name and its line.
func Decode(r io.Reader, name string) (*Policy, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", printable(name), err)
	}
	return decode(data, name)
}

func decode(data []byte, name string) (*Policy, error) { return decodeLayer(data, name, false) }

func decodeLayer(data []byte, name string, project bool) (*Policy, error) {
	if len(data) > maxBytes {
		return nil, fault.New(fault.Usage, "", "%s: the file is larger than %d KiB", printable(name), maxBytes>>10)
	}
	d := decoder{document: newDocument(name, data), policy: &Policy{}, seen: map[string]span{}, project: project}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return nil, d.fail(span{i, 1}, "", "a byte is not UTF-8 (%#x)", data[i])
		}
		i += n
	}
	d.parser.Reset(data)
	for !d.full() && d.parser.NextExpression() {
		d.note(d.expression(d.parser.Expression()))
	}
	if err := d.parser.Error(); err != nil {
		d.note(d.syntax(err))
	}
	if d.mistakes == nil {
		d.note(d.wellFormed())
	}
	if d.mistakes != nil {
		return nil, All(d.mistakes...)
	}
	return d.policy, nil
}

// decoder walks the expressions of a document. It works on the parser below the
// decoder of go-toml because only that one knows the place of every value.
type decoder struct {
	*document
	parser unstable.Parser
	policy *Policy
	table  []part          // of the last [header]
	seen   map[string]span // full names of keys and headers
	rules  int
	hosts  int
	astray bool // the last header names nothing: what stands below it is not judged
	// project holds for the file of a project, which strangers write.
	project  bool
	mistakes []error
}

// part is one part of a dotted key.
type part struct {
	name string
	at   span
}

func (d *decoder) expression(e *unstable.Node) error {
	parts := d.parts(e.Key())
	switch e.Kind {
	case unstable.Table:
		d.table = parts
		err := d.header(parts)
		d.astray = err != nil
		return err
	case unstable.ArrayTable:
		d.astray = true
		return d.fail(parts[0].at, "", "no section is a list of tables: write [%s]", printable(parts[0].name))
	default:
		if d.astray {
			return nil
		}
		return d.assign(append(d.table[:len(d.table):len(d.table)], parts...), e.Value())
	}
}

func (d *decoder) parts(it unstable.Iterator) []part {
	var out []part
	for it.Next() {
		n := it.Node()
		out = append(out, part{string(n.Data), span{int(n.Raw.Offset), int(n.Raw.Length)}})
	}
	return out
}

// header handles [section] and [section.table].
func (d *decoder) header(parts []part) error {
	if n := findNamed(parts[0].name); n != nil {
		return n.header(d, parts)
	}
	if err := d.known(parts); err != nil {
		return err
	}
	if err := d.once("table", parts); err != nil {
		return err
	}
	switch len(parts) {
	case 1:
		return nil
	case 2:
		k := findKey(parts[0].name, parts[1].name)
		if k.table == nil {
			return d.fail(parts[1].at, "", "%s is %s, not a table", k, k.form)
		}
		d.write(k)
		return nil
	}
	return d.fail(parts[2].at, "", "there are no tables beneath [%s.%s]", parts[0].name, parts[1].name)
}

// write makes the table of k a written one.
func (d *decoder) write(k *key) *[]Setting {
	at := k.table.at(d.policy)
	if *at == nil {
		*at = []Setting{}
	}
	return at
}

// known checks the first two parts against the table of keys.
func (d *decoder) known(parts []part) error {
	section := parts[0]
	names := keysOf(section.name)
	if names == nil {
		return d.fail(section.at, sectionHint(section.name), "unknown section %q", section.name)
	}
	if len(parts) > 1 && findKey(section.name, parts[1].name) == nil {
		hint := suggest(parts[1].name, names)
		if hint == "" {
			hint = fmt.Sprintf("[%s] knows: %s", section.name, strings.Join(names, ", "))
		}
		return d.fail(parts[1].at, hint, "unknown key %q in [%s]", parts[1].name, section.name)
	}
	return nil
}

// sectionHint helps who forgot the header, or misspelt it.
func sectionHint(name string) string {
	var under []string
	for i := range keys {
		if keys[i].name == name {
			under = append(under, "["+keys[i].section+"]")
		}
	}
	if under != nil {
		return fmt.Sprintf("%q belongs under %s", name, strings.Join(under, " or "))
	}
	for _, n := range allNamed {
		if n.knows(name) {
			return fmt.Sprintf("%q belongs under [%s.NAME]", name, n.title())
		}
	}
	if h := suggest(name, sections()); h != "" {
		return h
	}
	return "the sections are: " + strings.Join(sections(), ", ")
}

// once refuses a second definition. Tables and keys are apart: [env] may follow
// [env.set].
func (d *decoder) once(what string, parts []part) error {
	var b strings.Builder
	b.WriteString(what)
	for _, p := range parts {
		b.WriteString("\x00" + p.name)
	}
	full, last := b.String(), parts[len(parts)-1]
	if first, again := d.seen[full]; again {
		return d.fail(last.at, "", "duplicate %s %q, first written on line %d", what, last.name, d.line(first.at))
	}
	d.seen[full] = last.at
	return nil
}

// syntax turns an error of the parser into one of ours.
func (d *decoder) syntax(err error) error {
	at := span{max(len(d.data)-1, 0), 1}
	var pe *unstable.ParserError
	if errors.As(err, &pe) {
		if off := cap(d.data) - cap(pe.Highlight); pe.Highlight != nil && off >= 0 && off+len(pe.Highlight) <= len(d.data) {
			at = span{off, len(pe.Highlight)}
		}
	}
	return d.fail(at, "", "not valid TOML: %v", err)
}

// wellFormed lets the full decoder of go-toml judge the rules of TOML that the
// walk does not know, such as a section written both inline and as a header.
func (d *decoder) wellFormed() error {
	var all map[string]any
	err := toml.Unmarshal(d.data, &all)
	var de *toml.DecodeError
	if !errors.As(err, &de) {
		return err
	}
	line, column := de.Position()
	at := column - 1
	if line > 1 {
		at += d.newlines[line-2] + 1
	}
	return d.fail(span{at, 1}, "", "not valid TOML: %s", strings.TrimPrefix(de.Error(), "toml: "))
}
