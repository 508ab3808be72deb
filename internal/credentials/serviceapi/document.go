package serviceapi

import (
	"errors"
	"fmt"
)

const maxDepth = 40

// document is a GraphQL document with one operation.
type document struct {
	kind      string // query, mutation
	name      string
	defaults  map[string]any // of variables that have one
	sels      []selection
	fragments map[string]fragment
}

type fragment struct {
	on   string
	sels []selection
}

// selection is a field, or a spread of a fragment, or a fragment in place.
type selection struct {
	key        string // under which the answer holds it
	field      string
	spread     string
	on         string // the type that a fragment in place asks for
	args       object
	sels       []selection
	directives bool
}

// variable and word are values that stand for others.
type (
	variable string
	word     string // an enum, true, false, null
)

type parser struct {
	tokens []token
	depth  int
}

// parseDocument reads a document. Definitions of types, subscriptions and a
// second operation are refused.
func parseDocument(doc string) (*document, error) {
	tokens, err := lex(doc)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	d := &document{fragments: map[string]fragment{}}
	for len(p.tokens) > 0 {
		if p.word() == "fragment" {
			err = p.fragment(d)
		} else if d.kind != "" {
			err = errors.New("the query holds more than one operation")
		} else {
			err = p.operation(d)
		}
		if err != nil {
			return nil, err
		}
	}
	if d.kind == "" {
		return nil, errors.New("the query holds no operation")
	}
	return d, nil
}

func (p *parser) peek() token {
	if len(p.tokens) == 0 {
		return token{}
	}
	return p.tokens[0]
}

// word is the name that comes next, or "".
func (p *parser) word() string {
	if t := p.peek(); t.kind == name {
		return t.value
	}
	return ""
}

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) take(kind byte) bool {
	if p.peek().kind != kind || kind == end {
		return false
	}
	p.next()
	return true
}

func (p *parser) name() (string, error) {
	if t := p.next(); t.kind == name {
		return t.value, nil
	}
	return "", errors.New("the query lacks a name")
}

func (p *parser) want(kind byte) error {
	if !p.take(kind) {
		return fmt.Errorf("the query lacks %q", kind)
	}
	return nil
}

// deeper counts nesting; the function that it returns ends it.
func (p *parser) deeper() (func(), error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("the query is nested deeper than %d", maxDepth)
	}
	return func() { p.depth-- }, nil
}

func (p *parser) fragment(d *document) (err error) {
	p.next()
	label, err := p.name()
	if err != nil {
		return err
	}
	if _, twice := d.fragments[label]; twice || label == "on" {
		return fmt.Errorf("fragment %.40q stands twice or has no name", label)
	}
	var f fragment
	if p.next() != (token{name, "on"}) {
		return errors.New("a fragment lacks its type")
	}
	if f.on, err = p.name(); err != nil {
		return err
	}
	if _, err = p.directives(); err != nil {
		return err
	}
	if f.sels, err = p.selections(); err != nil {
		return err
	}
	d.fragments[label] = f
	return nil
}

func (p *parser) operation(d *document) (err error) {
	d.kind = "query"
	if p.peek().kind != '{' {
		d.kind = p.next().value
		if d.kind != "query" && d.kind != "mutation" {
			return errors.New("the operation is not a query and not a mutation")
		}
		if p.word() != "" {
			d.name = p.next().value
		}
		if err = p.variables(d); err != nil {
			return err
		}
		if _, err = p.directives(); err != nil {
			return err
		}
	}
	d.sels, err = p.selections()
	return err
}

func (p *parser) variables(d *document) error {
	d.defaults = map[string]any{}
	if !p.take('(') {
		return nil
	}
	for !p.take(')') {
		if err := p.want('$'); err != nil {
			return err
		}
		label, err := p.name()
		if err != nil {
			return err
		}
		if err := p.want(':'); err != nil {
			return err
		}
		if err := p.typeOf(); err != nil {
			return err
		}
		if p.take('=') {
			if d.defaults[label], err = p.value(); err != nil {
				return err
			}
		}
		if _, err := p.directives(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) typeOf() error {
	done, err := p.deeper()
	if err != nil {
		return err
	}
	defer done()
	if p.take('[') {
		if err := p.typeOf(); err != nil {
			return err
		}
		err = p.want(']')
	} else {
		_, err = p.name()
	}
	p.take('!')
	return err
}

// directives reports whether there were any.
func (p *parser) directives() (bool, error) {
	any := false
	for p.take('@') {
		any = true
		if _, err := p.name(); err != nil {
			return true, err
		}
		if _, err := p.arguments(); err != nil {
			return true, err
		}
	}
	return any, nil
}

func (p *parser) arguments() (object, error) {
	if !p.take('(') {
		return nil, nil
	}
	return p.pairs(')')
}

// pairs reads "name: value" up to a closing mark; a name that stands twice is
// refused.
func (p *parser) pairs(closing byte) (object, error) {
	o := object{}
	for !p.take(closing) {
		label, err := p.name()
		if err != nil {
			return nil, err
		}
		if _, twice := o[label]; twice {
			return nil, fmt.Errorf("%.40q stands twice", label)
		}
		if err := p.want(':'); err != nil {
			return nil, err
		}
		if o[label], err = p.value(); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (p *parser) value() (any, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	switch t := p.next(); t.kind {
	case '$':
		label, err := p.name()
		return variable(label), err
	case name:
		return word(t.value), nil
	case number:
		return t, nil
	case text:
		return t.value, nil
	case '{':
		return p.pairs('}')
	case '[':
		list := []any{}
		for !p.take(']') {
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return nil, errors.New("the query lacks a value")
}

func (p *parser) selections() ([]selection, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	if err := p.want('{'); err != nil {
		return nil, err
	}
	var out []selection
	for !p.take('}') {
		sel, err := p.selection()
		if err != nil {
			return nil, err
		}
		out = append(out, sel)
	}
	if len(out) == 0 {
		return nil, errors.New("the query selects nothing somewhere")
	}
	return out, nil
}

func (p *parser) selection() (sel selection, err error) {
	if p.take(ellipse) {
		return p.spread()
	}
	if sel.field, err = p.name(); err != nil {
		return sel, err
	}
	sel.key = sel.field
	if p.take(':') {
		if sel.field, err = p.name(); err != nil {
			return sel, err
		}
	}
	if sel.args, err = p.arguments(); err != nil {
		return sel, err
	}
	if sel.directives, err = p.directives(); err != nil {
		return sel, err
	}
	if p.peek().kind == '{' {
		sel.sels, err = p.selections()
	}
	return sel, err
}

func (p *parser) spread() (sel selection, err error) {
	if w := p.word(); w != "" && w != "on" {
		sel.spread = p.next().value
		sel.directives, err = p.directives()
		return sel, err
	}
	if p.word() == "on" {
		p.next()
		if sel.on, err = p.name(); err != nil {
			return sel, err
		}
	}
	if sel.directives, err = p.directives(); err != nil {
		return sel, err
	}
	sel.sels, err = p.selections()
	return sel, err
}
