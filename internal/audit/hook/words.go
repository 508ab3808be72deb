package hook

import (
	"errors"
	"io"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"ringfence.dev/ringfence/internal/audit/scan"
)

// These stand in a value for what is not known. None of them is of any use in an
// argument; unmarked takes them out of what comes in.
const (
	unset  = "\x01" // something, or nothing at all
	some   = "\x02" // something
	remote = "\x03" // something that comes from a network, or out of a decoder
	marks  = unset + some + remote
)

// Bounds of what words become. A replacement in a replacement grows with the product of
// its texts, and is not followed.
const (
	maxValue  = 4 << 10
	maxFields = 256
	maxParams = 64 // expansions in a word
)

func unmarked(s string) string {
	return strings.NewReplacer(unset, "\x1a", some, "\x1a", remote, "\x1a").Replace(s)
}

// known holds for a value without anything unknown. Patterns are known.
func known(s string) bool { return !strings.ContainsAny(s, marks) }

func fromNetwork(s string) bool { return strings.Contains(s, remote) }

// hidden is what a command prints that is given this to read.
func hidden(in string) string {
	if fromNetwork(in) {
		return remote
	}
	return some
}

// short cuts a value that grew too long.
func short(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return s[:maxValue] + hidden(s)
}

// fields expands words into arguments. Nothing is looked up: patterns stay as they are.
func (l *look) fields(words []*syntax.Word) (out []string) {
	for _, w := range words {
		if out = append(out, l.expand(w)...); len(out) > maxFields {
			return append(out[:maxFields], some)
		}
	}
	return out
}

func (l *look) expand(w *syntax.Word) (out []string) {
	defer func() {
		if recover() != nil { // of the library: the word is not known
			out = []string{some}
		}
	}()
	if tooBig(w) {
		return []string{some}
	}
	for f, err := range expand.FieldsSeq(l.config(), &syntax.Word{Parts: l.sh.fill(w.Parts)}) {
		if err != nil {
			return append(out, some)
		}
		if out = append(out, short(f)); len(out) > maxFields {
			break
		}
	}
	return out
}

// text expands a word into one value, as in an assignment or a here-document.
func (l *look) text(w *syntax.Word, document bool) (out string) {
	defer func() {
		if recover() != nil {
			out = some
		}
	}()
	if w == nil {
		return ""
	}
	if tooBig(w) {
		return some
	}
	parts := l.sh.fill(w.Parts)
	if document {
		out, err := expand.Document(l.config(), &syntax.Word{Parts: parts})
		if err != nil {
			return some
		}
		return short(out)
	}
	for i, p := range parts { // the library leaves the backslashes in
		if lit, ok := p.(*syntax.Lit); ok && (i > 0 || !strings.HasPrefix(lit.Value, "~")) {
			parts[i] = &syntax.SglQuoted{Value: scan.ShellText(lit, false)}
		}
	}
	out, err := expand.Literal(l.config(), &syntax.Word{Parts: parts})
	if err != nil {
		return some
	}
	return short(out)
}

func (l *look) config() *expand.Config {
	return &expand.Config{Env: &l.sh, ExtGlob: true,
		CmdSubst: func(w io.Writer, c *syntax.CmdSubst) error {
			_, err := io.WriteString(w, l.outputs(c.Stmts, ""))
			return err
		},
		ProcSubst: func(p *syntax.ProcSubst) (string, error) {
			return "/dev/fd/" + hidden(l.outputs(p.Stmts, "")), nil
		},
	}
}

// tooBig holds for a word that could become too much.
func tooBig(w *syntax.Word) bool {
	params, replaces := 0, 0
	syntax.Walk(w, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.ParamExp); ok {
			if params++; p.Repl != nil {
				replaces++
			}
		}
		return true
	})
	return params > maxParams || replaces > 1 || replaces > 0 && params > 4
}

// fill puts marks in the place of what is not known, so that the library sees no
// variable but those of the line.
func (s *state) fill(parts []syntax.WordPart) []syntax.WordPart {
	mark := func(s string) syntax.WordPart { return &syntax.SglQuoted{Value: s} }
	out := slices.Clone(parts)
	for i, p := range out {
		switch p := p.(type) {
		case *syntax.DblQuoted:
			out[i] = &syntax.DblQuoted{Parts: s.fill(p.Parts)}
		case *syntax.ArithmExp:
			if n, ok := p.X.(*syntax.Word); !ok || n.Lit() == "" || strings.Trim(n.Lit(), "0123456789") != "" {
				out[i] = mark(some)
			}
		case *syntax.ParamExp:
			if v := s.Get(p.Param.Value); v.IsSet() && (p.Repl == nil || v.Kind == expand.String) {
				continue
			}
			if out[i] = mark(unset); strings.Contains("#?$!-", p.Param.Value) {
				out[i] = mark(some)
			}
			if p.Exp == nil {
				continue
			}
			switch p.Exp.Op {
			case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
				e := *p
				e.Exp = &syntax.Expansion{Op: p.Exp.Op, Word: p.Exp.Word}
				if p.Exp.Word != nil {
					e.Exp.Word = &syntax.Word{Parts: s.fill(p.Exp.Word.Parts)}
				}
				out[i] = &e
			case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
				out[i] = mark(some) // or the shell ends here
			}
		}
	}
	return out
}

// Get is what is known of a variable: those of the line, and where the shell stands.
func (s *state) Get(name string) expand.Variable {
	v := func(s string) expand.Variable { return expand.Variable{Set: true, Kind: expand.String, Str: s} }
	if set, ok := s.vars[name]; ok {
		return set
	}
	switch user, tilde := strings.CutPrefix(name, "HOME "); {
	case tilde && user == "+", name == "PWD":
		return v(s.dir)
	case tilde && user == "root":
		return v("/root")
	case tilde && strings.Trim(user, "+-0123456789") == "":
		return v(some)
	case tilde:
		return v("/home/" + user)
	case name == "HOME":
		return v(s.where.Home)
	case name == "IFS":
		return v(" \t\n")
	}
	return expand.Variable{}
}

// Set is for the library: ${NAME:=value}.
func (s *state) Set(name string, v expand.Variable) error {
	if v.Kind != expand.String {
		return errors.New("not a text")
	}
	s.set(name, v.Str)
	return nil
}

// Each is for the library, which lists names by it: there are none to list.
func (s *state) Each(func(string, expand.Variable) bool) {}

func (s *state) set(name, value string) {
	s.vars[name] = expand.Variable{Set: true, Kind: expand.String, Str: short(value)}
}

func (l *look) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		name, was := a.Name.Value, l.sh.vars[a.Name.Value]
		var values []string
		switch {
		case a.Array != nil:
			for _, e := range a.Array.Elems {
				if e.Value != nil {
					values = append(values, l.expand(e.Value)...)
				}
			}
		default:
			values = []string{l.text(a.Value, false)}
		}
		l.historyVariable(name, strings.Join(values, ""))
		if a.Array == nil && a.Index == nil && was.Kind != expand.Indexed {
			if a.Append {
				values[0] = was.Str + values[0]
			}
			l.sh.set(name, values[0])
			continue
		}
		if a.Append || a.Index != nil {
			values = append(slices.Clone(was.List), values...) // one more element is as good as this one
		}
		l.sh.vars[name] = expand.Variable{Set: true, Kind: expand.Indexed, List: values[:min(len(values), maxFields)]}
	}
}
