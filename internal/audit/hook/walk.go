package hook

import (
	"maps"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit/shell"
)

// Bounds of how far a command line is followed.
const (
	maxSteps = 4000
	maxCalls = 12
)

// walk follows a command line: every branch is taken, every loop gone through once
// for each value, and what a command prints is known if it only says what is written.
type walk struct {
	where Where
	dir   string              // where the shell would stand
	vars  map[string][]string // set in this line
	args  []string            // $1 and on; nil: not known
	funcs map[string]shell.List
	files map[string]string // what is written to, and read from, by name
	stdin string            // what the next command reads
	outs  []shell.List      // >(…) of the command at hand
	heads map[string]string // branches that were checked out, by directory

	line    string  // all of it
	busy    []frame // functions that are being followed
	steps   int
	calls   int
	verdict Verdict
}

// frame is a function that is being followed. It may define itself anew.
type frame struct {
	name string
	body *shell.Item
}

// Judge says what becomes of a command line.
func Judge(line string, where Where) Verdict {
	w := &walk{line: line, where: where, dir: where.Dir, vars: map[string][]string{}, funcs: map[string]shell.List{},
		files: map[string]string{}, heads: map[string]string{}}
	w.script(read(line), "")
	return w.verdict
}

// find takes a verdict down, if it is worse than what there is.
func (w *walk) find(d Decision, rule, reason string) {
	if d > w.verdict.Decision {
		w.verdict = Verdict{d, rule, reason}
	}
}

// script follows a text that a shell is given.
func (w *walk) script(text, stdin string) string {
	if w.calls++; w.calls > maxCalls {
		w.tooMuch(text)
		w.calls--
		return string(some)
	}
	defer func() { w.calls-- }()
	list, err := shell.Parse(literal(text))
	if err != nil {
		if scary(text) {
			w.find(Ask, "unreadable", "This command line cannot be read ("+err.Error()+"), and looks as if it did something that cannot be taken back.")
		}
		return string(some)
	}
	return w.list(list, stdin)
}

func (w *walk) tooMuch(text string) {
	if scary(text) {
		w.find(Ask, "unreadable", "This command line is too involved to be followed, and looks as if it did something that cannot be taken back.")
	}
}

// inSubshell follows commands whose settings stay with them.
func (w *walk) inSubshell(list shell.List, stdin string) string {
	if w.calls++; w.calls > 4*maxCalls {
		w.calls--
		return string(some)
	}
	dir, vars, args, outs := w.dir, maps.Clone(w.vars), w.args, w.outs
	w.outs = nil
	out := w.list(list, stdin)
	w.dir, w.vars, w.args, w.outs = dir, vars, args, outs
	w.calls--
	return out
}

// list follows commands in order and returns what they print.
func (w *walk) list(list shell.List, stdin string) string {
	var out strings.Builder
	for _, item := range list {
		if w.verdict.Decision == Deny {
			break // it cannot get worse
		}
		if s := w.pipeline(item, stdin); s != "" && out.Len() < maxValue {
			out.WriteString(s)
		}
	}
	return short(out.String())
}

func (w *walk) pipeline(item shell.Item, stdin string) string {
	w.bomb(item)
	in := stdin
	dir, vars := w.dir, w.vars
	if len(item.Pipe) > 1 {
		vars = maps.Clone(w.vars)
	}
	for _, c := range item.Pipe {
		in = w.command(c, in)
	}
	if len(item.Pipe) > 1 {
		w.dir, w.vars = dir, vars // each runs in a shell of its own
	}
	return in
}

// bomb finds a function that starts itself more than once without waiting.
func (w *walk) bomb(item shell.Item) {
	if len(w.busy) == 0 || len(item.Pipe) < 2 && !item.Background {
		return
	}
	for _, c := range item.Pipe {
		if len(c.Words) == 0 {
			continue
		}
		if name, ok := c.Words[0].Plain(); ok && slices.ContainsFunc(w.busy, func(f frame) bool { return f.name == name }) {
			w.find(Deny, "fork-bomb", "This is a fork bomb.")
		}
	}
}

// command follows one command and returns what it prints to the next.
func (w *walk) command(c shell.Command, stdin string) string {
	if w.steps++; w.steps > maxSteps {
		w.tooMuch(w.line)
		return string(some)
	}
	was, outs := w.stdin, w.outs
	w.stdin, w.outs = stdin, nil
	defer func() { w.stdin, w.outs = was, outs }()
	r := w.redirect(c.Redirs, stdin)
	w.stdin = r.in
	var out string
	if c.Body != nil {
		out = w.compound(c.Body, r.in)
	} else {
		out = w.simple(c, r)
	}
	for _, list := range w.outs {
		w.inSubshell(list, out)
	}
	for _, file := range r.out {
		w.write(file, out, r.add)
	}
	if len(r.out) > 0 {
		return ""
	}
	return out
}

// streams is where a command reads and writes.
type streams struct {
	in  string
	out []string // files that take what it prints
	add bool
}

func (w *walk) redirect(redirs []shell.Redir, stdin string) streams {
	s := streams{in: stdin}
	for _, r := range redirs {
		switch r.Op {
		case "<<", "<<-":
			s.in = w.text(r.Doc)
		case "<<<":
			s.in = w.text(r.Target) + "\n"
		case "<":
			name := w.text(r.Target)
			w.opened(name)
			s.in = w.contents(name)
		case "<&", ">&":
			if name := w.text(r.Target); strings.Trim(name, "0123456789-") != "" {
				w.opened(name)
			}
		default:
			name := w.text(r.Target)
			w.opened(name)
			w.overwritten(name)
			if r.FD == "" || r.FD == "1" {
				s.out, s.add = append(s.out, name), r.Op == ">>"
			}
		}
	}
	return s
}

// contents is what is known of a file.
func (w *walk) contents(name string) string {
	if name == "/dev/stdin" || name == "/dev/fd/0" || name == "/proc/self/fd/0" {
		return w.stdin
	}
	if c, ok := w.files[w.abs(name)]; ok {
		return c
	}
	return string(some)
}

func (w *walk) write(name, content string, add bool) {
	name = w.abs(name)
	if add {
		content = w.files[name] + content
	}
	if len(w.files) < 256 {
		w.files[name] = short(content)
	}
}

func (w *walk) compound(c *shell.Compound, stdin string) string {
	switch c.Kind {
	case shell.Func:
		w.funcs[c.Name] = c.Lists[0]
		return ""
	case shell.Subshell:
		return w.inSubshell(c.Lists[0], stdin)
	case shell.For:
		return w.loop(c, stdin)
	}
	for _, word := range c.Words {
		w.text(word)
	}
	was := w.stdin
	w.stdin = stdin
	defer func() { w.stdin = was }()
	out := ""
	for _, l := range c.Lists {
		out += w.list(l, stdin)
	}
	return short(out)
}

// loop goes through the values, as far as there are not too many.
func (w *walk) loop(c *shell.Compound, stdin string) string {
	const most = 32
	values := w.allFields(c.Words)
	if c.InArgs {
		values = w.args
	}
	if len(values) > most {
		values = append(values[:most:most], string(some))
	}
	out := ""
	for _, v := range values {
		w.vars[c.Name] = []string{v}
		out += w.list(c.Lists[len(c.Lists)-1], stdin)
	}
	return short(out)
}

// simple follows a simple command.
func (w *walk) simple(c shell.Command, r streams) string {
	args := w.allFields(c.Words)
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	var before map[string][]string
	if len(args) > 0 && !declaring(name) {
		before = maps.Clone(w.vars)
	}
	for _, a := range c.Assign {
		w.assign(a)
	}
	out := ""
	if len(args) > 0 {
		out = w.run(args, r.in)
	} else if len(c.Redirs) > 0 && len(r.out) == 0 {
		out = r.in // $(<file)
	}
	if before != nil && len(c.Assign) > 0 {
		w.vars = before
	}
	return out
}

func declaring(name string) bool {
	switch name {
	case "export", "declare", "typeset", "local", "readonly":
		return true
	}
	return false
}

func (w *walk) assign(a shell.Assign) {
	var values []string
	if a.Array {
		values = w.allFields(a.Values)
	} else {
		values = []string{w.text(a.Values[0])}
	}
	w.historyVariable(a.Name, values)
	if a.Append && (a.Array || len(w.vars[a.Name]) > 1) {
		values = append(slices.Clone(w.vars[a.Name]), values...)
	} else if a.Append && len(w.vars[a.Name]) == 1 {
		values = []string{w.vars[a.Name][0] + values[0]}
	}
	if len(values) > maxFields {
		values = values[:maxFields]
	}
	w.vars[a.Name] = values
}

// call follows a function.
func (w *walk) call(name string, args []string, stdin string) (string, bool) {
	body, ok := w.funcs[name]
	if !ok || len(body) == 0 {
		return "", ok
	}
	this := frame{name, &body[0]}
	if slices.Contains(w.busy, this) || len(w.busy) >= maxCalls {
		return string(some), true
	}
	was := w.args
	w.args = append([]string{}, args...)
	w.busy = append(w.busy, this)
	out := w.list(body, stdin)
	w.busy = w.busy[:len(w.busy)-1]
	w.args = was
	return out, true
}
