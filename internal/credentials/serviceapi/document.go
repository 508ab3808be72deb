package serviceapi

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

const (
	maxDocument = 256 << 10
	maxTokens   = 20000
	maxDepth    = 40
)

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

// variable, word and number are values that are no text.
type (
	variable string
	word     string // an enum, true, false, null
	number   string // as written
)

// parseDocument reads a document. A second operation, a subscription and a name that
// stands twice are refused.
func parseDocument(doc string) (*document, error) {
	if err := plainDocument(doc); err != nil {
		return nil, err
	}
	read, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: doc, Name: "query"}, maxTokens)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the query cannot be read: %w", err)
	case len(read.Operations) != 1:
		return nil, fmt.Errorf("the query holds %d operations, not one", len(read.Operations))
	}
	op := read.Operations[0]
	if op.Operation == ast.Subscription {
		return nil, errors.New("the operation is not a query and not a mutation")
	}
	d := &document{kind: string(op.Operation), name: op.Name, defaults: map[string]any{}, fragments: map[string]fragment{}}
	declared := map[string]bool{}
	for _, v := range op.VariableDefinitions {
		if declared[v.Variable] {
			return nil, twice(v.Variable)
		}
		declared[v.Variable] = true
		if v.DefaultValue != nil {
			if d.defaults[v.Variable], err = valueOf(v.DefaultValue, 0); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range read.Fragments {
		if _, there := d.fragments[f.Name]; there || len(f.VariableDefinition) > 0 {
			return nil, fmt.Errorf("fragment %.40q stands twice or has variables", f.Name)
		}
		sels, err := selections(f.SelectionSet, 0)
		if err != nil {
			return nil, err
		}
		d.fragments[f.Name] = fragment{f.TypeCondition, sels}
	}
	d.sels, err = selections(op.SelectionSet, 0)
	return d, err
}

// plainDocument refuses what readers of GraphQL take in more than one way: characters
// that end a line for some of them, a mark of byte order, and a row of four quotes, of
// which the standard takes the first three for the end of a text and our parser the last.
func plainDocument(doc string) error {
	switch {
	case len(doc) > maxDocument:
		return fmt.Errorf("the query is longer than %d bytes", maxDocument)
	case !utf8.ValidString(doc) || strings.Contains(strings.ReplaceAll(doc, "\r\n", "\n"), "\r"):
		return errors.New("the query is not plain text")
	case strings.Contains(doc, `""""`):
		return errors.New("the query holds four quotes in a row")
	}
	for _, r := range doc {
		if unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) || strings.ContainsRune("\u2028\u2029\ufeff", r) {
			return fmt.Errorf("the query holds the character %U", r)
		}
	}
	return nil
}

func twice(name string) error { return fmt.Errorf("%.40q stands twice", name) }

func selections(set ast.SelectionSet, depth int) ([]selection, error) {
	if depth >= maxDepth {
		return nil, fmt.Errorf("the query is nested deeper than %d", maxDepth)
	}
	var out []selection
	for _, s := range set {
		var sel selection
		var inner ast.SelectionSet
		var err error
		switch s := s.(type) {
		case *ast.Field:
			sel.key, sel.field, sel.directives, inner = s.Alias, s.Name, len(s.Directives) > 0, s.SelectionSet
			sel.args, err = arguments(s.Arguments)
		case *ast.FragmentSpread:
			sel.spread, sel.directives = s.Name, len(s.Directives) > 0
		case *ast.InlineFragment:
			sel.on, sel.directives, inner = s.TypeCondition, len(s.Directives) > 0, s.SelectionSet
		}
		if err == nil {
			sel.sels, err = selections(inner, depth+1)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, sel)
	}
	return out, nil
}

func arguments(list ast.ArgumentList) (object, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var pairs ast.ChildValueList
	for _, a := range list {
		pairs = append(pairs, &ast.ChildValue{Name: a.Name, Value: a.Value})
	}
	return members(pairs, 0)
}

func members(pairs ast.ChildValueList, depth int) (_ object, err error) {
	o := object{}
	for _, m := range pairs {
		if _, there := o[m.Name]; there {
			return nil, twice(m.Name)
		}
		if o[m.Name], err = valueOf(m.Value, depth+1); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func valueOf(v *ast.Value, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the query is nested deeper than %d", maxDepth)
	}
	switch v.Kind {
	case ast.Variable:
		return variable(v.Raw), nil
	case ast.IntValue, ast.FloatValue:
		return number(v.Raw), nil
	case ast.StringValue:
		return v.Raw, nil
	case ast.BlockValue:
		return "\n" + v.Raw, nil // no id: readers differ in the indentation that they take off
	case ast.ObjectValue:
		return members(v.Children, depth)
	case ast.ListValue:
		list := []any{}
		for _, c := range v.Children {
			e, err := valueOf(c.Value, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		return list, nil
	}
	return word(v.Raw), nil
}
