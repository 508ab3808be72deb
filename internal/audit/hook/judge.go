package hook

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"ringfence.dev/ringfence/internal/audit/scan"
)

// Bounds of how far a command line is looked into.
const (
	maxSteps   = 4000
	maxScripts = 12 // in one another: sh -c 'sh -c …'
)

// state is where the shell stands, and the variables of the line.
type state struct {
	where Where // as it began
	dir   string
	vars  map[string]expand.Variable
}

// look goes over a command line from left to right. Every branch is taken. It knows
// the state of the shell, and what was downloaded.
type look struct {
	line    string
	sh      state
	heads   map[string]string // branches that were checked out, by directory
	fetched map[string]bool   // files that hold something from a network
	steps   int
	scripts int
	verdict Verdict
}

func newLook(line string, where Where) *look {
	return &look{line: line, sh: state{where, where.Dir, map[string]expand.Variable{}}, heads: map[string]string{}, fetched: map[string]bool{}}
}

// Judge says what becomes of a command line.
func Judge(line string, where Where) Verdict {
	// What is denied by its words alone waits for no look at a repository.
	quick := where
	quick.Work = func(string, []string, bool) ([]Unsaved, error) { return nil, nil }
	if v := judge(line, quick); v.Decision == Deny {
		return v
	}
	return judge(line, where)
}

func judge(line string, where Where) Verdict {
	l := newLook(line, where)
	l.script(unmarked(line), "")
	return l.verdict
}

// find takes a verdict down, if it is worse than what there is.
func (l *look) find(d Decision, rule, reason string) {
	if d > l.verdict.Decision {
		l.verdict = Verdict{d, rule, reason}
	}
}

// script looks at a text that a shell is given. What it cannot read is asked about if
// it looks dangerous.
func (l *look) script(text, in string) {
	if text == some || text == unset {
		return
	}
	l.scripts++
	defer func() { l.scripts-- }()
	list, err := scan.ReadShell(text)
	switch {
	case l.scripts > maxScripts:
		l.tooMuch()
	case err == nil:
		l.list(list, in)
	case scary(text):
		l.find(Ask, "unreadable", "This command line cannot be read ("+err.Error()+"), and looks as if it did something that cannot be taken back.")
	}
}

func (l *look) tooMuch() {
	if scary(l.line) {
		l.find(Ask, "unreadable", "This command line is too involved to be followed, and looks as if it did something that cannot be taken back.")
	}
}

// spent counts what was looked at, and holds when it was enough.
func (l *look) spent() bool {
	if l.steps++; l.steps > maxSteps {
		l.tooMuch()
		return true
	}
	return l.verdict.Decision == Deny // it cannot get worse
}

func (l *look) list(list []*syntax.Stmt, in string) {
	for _, s := range list {
		l.statement(s, in)
	}
}

// apart is what happens in a shell of its own: what is set in there stays in there.
func (l *look) apart(do func()) {
	dir, vars := l.sh.dir, maps.Clone(l.sh.vars)
	do()
	l.sh.dir, l.sh.vars = dir, vars
}

// statement is a command with its redirections. in is what it reads.
func (l *look) statement(s *syntax.Stmt, in string) {
	if l.spent() {
		return
	}
	for _, r := range s.Redirs {
		l.inner(r, s, in)
		l.redirected(r)
		l.saved(r, s, in)
	}
	in = l.input(s, in)
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		l.inner(c, s, in)
		l.call(c, in)
	case *syntax.DeclClause:
		l.inner(c, s, in)
		l.assign(c.Args)
	case *syntax.BinaryCmd:
		l.statement(c.X, in)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			in = l.output(c.X, in)
		}
		l.statement(c.Y, in)
	case *syntax.Subshell:
		l.apart(func() { l.list(c.Stmts, in) })
	case *syntax.ForClause:
		l.loop(c, s, in)
	case *syntax.FuncDecl:
		l.bomb(c)
		l.apart(func() { l.statement(c.Body, "") })
	default:
		l.inner(c, s, in)
	}
}

// inner looks at the commands in the words or the body of a statement.
func (l *look) inner(n syntax.Node, s *syntax.Stmt, in string) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			l.statement(n, in)
		case *syntax.CmdSubst:
			l.apart(func() { l.list(n.Stmts, in) })
		case *syntax.ProcSubst:
			from := ""
			if n.Op == syntax.CmdOut {
				from = l.output(s, in)
			}
			l.apart(func() { l.list(n.Stmts, from) })
		default:
			return true
		}
		return false
	})
}

// call is a simple command. What it sets before its name, it sets for itself.
func (l *look) call(c *syntax.CallExpr, in string) {
	args := l.fields(c.Args)
	if len(args) == 0 {
		l.assign(c.Assigns)
		return
	}
	if len(c.Assigns) > 0 {
		before := l.sh.vars
		l.sh.vars = maps.Clone(l.sh.vars)
		l.assign(c.Assigns)
		defer func() { l.sh.vars = before }()
	}
	l.run(args, in)
}

// loop goes through the values, as far as there are not too many.
func (l *look) loop(c *syntax.ForClause, s *syntax.Stmt, in string) {
	over, ok := c.Loop.(*syntax.WordIter)
	if !ok || len(over.Items) == 0 {
		l.inner(c, s, in)
		return
	}
	l.inner(over, s, in)
	for _, v := range l.fields(over.Items) {
		l.sh.set(over.Name.Value, v)
		l.list(c.Do, in)
	}
}

// bomb finds a function that starts itself more than once without waiting.
func (l *look) bomb(f *syntax.FuncDecl) {
	calls := func(s *syntax.Stmt) bool {
		c, ok := s.Cmd.(*syntax.CallExpr)
		return ok && len(c.Args) > 0 && c.Args[0].Lit() == f.Name.Value
	}
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		b, pipe := s.Cmd.(*syntax.BinaryCmd)
		if s.Background && calls(s) || pipe && b.Op == syntax.Pipe && slices.ContainsFunc([]*syntax.Stmt{b.X, b.Y}, calls) {
			l.find(Deny, "fork-bomb", "This is a fork bomb.")
		}
		return true
	})
}
