package scan

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A name that a command uses, as far as its text says it. What only the shell will
// know when it runs the command is one of these two characters.
const (
	any1  = "\x00" // any text
	here1 = "\x01" // the project's directory, or one that the command went to
)

// used is one name, whether a program of that name would be run, and whether what it
// finds in a directory of that name would be.
type used struct {
	name string
	runs bool
	dir  bool
}

// usage is what commands use of a tree.
type usage struct {
	names []used
	dirs  []string // directories that the commands go to
	// unnamed: they run a script of which the text does not say the name.
	unnamed bool
	deep    int
	set     map[string][]string // variables of one text
	wrapped bool                // in a command that a wrapper runs
	known   map[string]bool     // programs whose own files are among the names
}

// add says what the commands of a hit use.
func (u *usage) add(h hit) {
	if h.value != nil {
		u.node("", h.value)
		return
	}
	for line := range strings.Lines(h.runs) { // a block of YAML, or one value
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		if name, rest, ok := strings.Cut(line, ": "); ok && !strings.ContainsAny(name, " /$'\"") {
			line = rest
		}
		if n := len(line); n > 1 && (line[0] == '"' || line[0] == '\'') && line[n-1] == line[0] && strings.Count(line, line[:1]) == 2 {
			line = line[1 : n-1]
		}
		u.text(strings.TrimPrefix(line, "!")) // as git writes an alias
	}
}

// silent are members of settings that are compared or shown, and run nothing.
var silent = []string{"matcher", "type", "if", "prompt", "description", "name", "title", "url", "httpurl", "base_url", "statusmessage", "headers", "env"}

// node goes over a value: objects with a command and its arguments, lists that are
// such, and texts for a shell.
func (u *usage) node(name string, v *node) {
	switch v.Kind {
	case '"':
		if !slices.Contains(silent, strings.ToLower(name)) {
			u.text(v.Text)
		}
	case '[':
		if argv := textList(v); argv != nil {
			u.argv(argv)
			return
		}
		for _, item := range v.Items() {
			u.node(name, item)
		}
	case '{':
		u.object(v)
	}
}

func (u *usage) object(v *node) {
	command, args := member2(v, "command"), member2(v, "args")
	argv := textList(args)
	if command != nil && command.Kind == '"' && argv != nil {
		u.argv(append([]string{command.Text}, argv...))
	}
	for _, m := range v.Members() {
		switch low := strings.ToLower(m.Name); {
		case low == "cwd" || low == "workdir":
			u.dirs = append(u.dirs, templated(m.Text))
		case low == "args" || low == "command" && argv != nil:
		case slices.Contains(silent, low) && m.Kind == '{': // variables: their values may be names
			for _, e := range m.Members() {
				u.variables(e.Name, templated(e.Text))
			}
		default:
			u.node(m.Name, m)
		}
	}
}

// member2 finds a member whatever the case of its name.
func member2(v *node, name string) *node {
	for _, m := range v.Members() {
		if strings.EqualFold(m.Name, name) {
			return m
		}
	}
	return nil
}

// textList returns the texts of a list that holds nothing else.
func textList(v *node) []string {
	if v == nil || v.Kind != '[' || len(v.Items()) == 0 {
		return nil
	}
	var out []string
	for _, item := range v.Items() {
		if item.Kind != '"' {
			return nil
		}
		out = append(out, item.Text)
	}
	return out
}

// argv is a command that no shell reads. Agents put variables in: $NAME, ${NAME},
// {env:NAME}, {file:NAME}.
func (u *usage) argv(words []string) {
	var names []string
	for _, w := range words {
		names = append(names, templated(w))
	}
	u.simple(names, words)
}

// templated is a text with what an agent puts in.
func templated(s string) string {
	s = strings.ReplaceAll(s, any1, "?")
	for _, name := range rootNames {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "${"+name+"}", here1), "$"+name+"/", here1+"/")
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "${"), strings.HasPrefix(rest, "{env:"), strings.HasPrefix(rest, "{file:"):
			b.WriteString(any1)
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return b.String()
			}
			i += end + 1
		case rest[0] == '$' && len(rest) > 1 && isName(rest[1]):
			b.WriteString(any1)
			for i++; i < len(s) && (isName(s[i]) || s[i] >= '0' && s[i] <= '9'); i++ {
			}
		default:
			b.WriteByte(rest[0])
			i++
		}
	}
	return b.String()
}

func isName(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// rootNames are the variables in which agents and shells have the project's directory.
var rootNames = []string{"CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "CODEX_PROJECT_DIR", "CURSOR_PROJECT_DIR", "workspaceFolder", "workspaceRoot", "workspacePath", "PWD"}

// text is one for a shell. What no shell can read is not known at all.
func (u *usage) text(s string) {
	const deepest = 8
	if u.deep++; u.deep > deepest {
		u.unnamed = true
		u.deep--
		return
	}
	defer func() { u.deep-- }()
	list, err := ReadShell(s)
	if err != nil || strings.Contains(s, "\r") { // which may be the end of a name, or of a line
		u.unnamed = true
		return
	}
	u.list(list, false)
}

func (u *usage) list(list []*syntax.Stmt, fed bool) {
	for _, s := range list {
		u.statement(s, fed)
	}
}

// statement is a simple or compound command with its redirections, fed by another or
// not.
func (u *usage) statement(s *syntax.Stmt, fed bool) {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok {
		u.statement(b.X, fed)
		u.statement(b.Y, fed || b.Op == syntax.Pipe || b.Op == syntax.PipeAll)
		return
	}
	names, texts := u.command(s.Cmd)
	reads := readsProgram(names)
	for _, r := range s.Redirs {
		if name := u.word(r.Word); strings.HasPrefix(r.Op.String(), "<") {
			u.names = append(u.names, used{name: name, runs: reads})
			u.word(r.Hdoc)
			fed = fed || r.Op != syntax.RdrIn
		}
	}
	if fed && (interprets(names) || reads) {
		u.unnamed = true // what it reads is not known
	}
	u.simple(names, texts)
	if names == nil {
		u.compound(s.Cmd, fed)
	}
}

// command takes down what a simple command sets, and returns its words.
func (u *usage) command(c syntax.Command) (names, texts []string) {
	var words []*syntax.Word
	switch c := c.(type) {
	case *syntax.CallExpr:
		u.assigns(c.Assigns)
		words = c.Args
	case *syntax.DeclClause:
		u.assigns(c.Args)
		names, texts = []string{c.Variant.Value}, []string{c.Variant.Value}
	}
	for _, w := range words {
		text, ok := ShellPlain(w)
		if !ok {
			text = any1
		}
		names, texts = append(names, u.word(w)), append(texts, text)
	}
	return names, texts
}

func (u *usage) assigns(list []*syntax.Assign) {
	for _, a := range list {
		switch {
		case a.Name == nil: // an option of what declares, or an assignment that is not known
			u.names = append(u.names, used{name: u.word(a.Value)})
			continue
		case a.Naked:
			u.sets([]string{a.Name.Value})
		case a.Array != nil:
			for _, e := range a.Array.Elems {
				u.variables(a.Name.Value, u.word(e.Value))
			}
			u.sets([]string{a.Name.Value})
		default:
			value := u.word(a.Value)
			u.variables(a.Name.Value, value)
			if u.assign(a.Name.Value, value); a.Append || a.Index != nil {
				u.assign(a.Name.Value, any1)
			}
		}
		if slices.Contains(rootNames, a.Name.Value) {
			u.unnamed = true
		}
	}
}

// compound looks at all words and statements of a compound command.
func (u *usage) compound(c syntax.Command, fed bool) {
	if c == nil {
		return
	}
	if loop, ok := c.(*syntax.ForClause); ok {
		if over, ok := loop.Loop.(*syntax.WordIter); ok {
			for _, w := range over.Items {
				name := u.word(w)
				u.names = append(u.names, used{name: name})
				u.assign(over.Name.Value, name)
			}
			u.list(loop.Do, fed)
			return
		}
	}
	syntax.Walk(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			u.statement(n, fed)
			return false
		case *syntax.Word:
			u.word(n)
			return false
		}
		return true
	})
}

// assign remembers the value of a variable. With several it is not known which.
func (u *usage) assign(name, value string) {
	if u.set == nil {
		u.set = map[string][]string{}
	}
	u.set[name] = append(u.set[name], value)
}

// word is the name that a word stands for. Commands in it are looked at.
func (u *usage) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	u.parts(&b, w.Parts, false)
	return b.String()
}

func (u *usage) parts(b *strings.Builder, parts []syntax.WordPart, quoted bool) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
			t := strings.ReplaceAll(ShellText(p, quoted), any1, "?")
			if lit, ok := p.(*syntax.Lit); ok && i == 0 && !quoted && strings.HasPrefix(lit.Value, "~") {
				t = any1 + t[1:]
			}
			b.WriteString(strings.NewReplacer("*", any1, "?", any1, "[", any1, "{", any1, "}", any1).Replace(t))
		case *syntax.DblQuoted:
			u.parts(b, p.Parts, true)
		case *syntax.ParamExp:
			b.WriteString(u.variable(p))
		case *syntax.CmdSubst:
			u.list(p.Stmts, false)
			b.WriteString(output(p.Stmts))
		case *syntax.ProcSubst:
			u.list(p.Stmts, false)
			b.WriteString(any1)
		default:
			u.inner(p)
			b.WriteString(any1)
		}
	}
}

// inner looks at the words in an expansion: defaults may be names.
func (u *usage) inner(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		w, ok := n.(*syntax.Word)
		if ok {
			u.names = append(u.names, used{name: u.word(w)})
		}
		return !ok
	})
}

func (u *usage) variable(p *syntax.ParamExp) string {
	u.inner(p)
	name := ""
	if p.Param != nil {
		name = p.Param.Value
	}
	plain := !p.Length && !p.Excl && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.NestedParam == nil
	switch {
	case !plain, p.Exp != nil && p.Exp.Op != syntax.ErrorUnset && p.Exp.Op != syntax.ErrorUnsetOrNull:
		return any1
	case slices.Contains(rootNames, name):
		return here1
	}
	if values := u.set[name]; len(values) == 1 {
		return values[0]
	}
	return any1
}

// output is what commands write, of the two that say where the project is.
func output(list []*syntax.Stmt) string {
	if len(list) != 1 {
		return any1
	}
	call, ok := list[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return any1
	}
	var words []string
	for _, w := range call.Args {
		text, ok := ShellPlain(w)
		if !ok {
			return any1
		}
		words = append(words, text)
	}
	switch strings.Join(words, " ") {
	case "git rev-parse --show-toplevel", "pwd", "pwd -P":
		return here1
	}
	return any1
}

// wrappers run the command that follows them.
var wrappers = []string{"env", "exec", "command", "builtin", "nohup", "nice", "ionice", "timeout", "time", "sudo", "doas", "xargs", "setsid", "stdbuf", "flock", "npx", "bunx",
	"uvx", "chronic", "caffeinate", "busybox", "unbuffer", "script", "watch", "parallel", "find", "fd", "uv", "poetry", "pipenv", "pnpm", "yarn", "npm", "bun", "mise", "direnv",
	"bundle", "pdm", "hatch", "rye", "pipx", "corepack", "cross-env", "dotenv"}

// interpreters run the file that follows them. The first ones read shell.
var interpreters = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "source", ".", "python", "python2", "python3", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "perl", "ruby",
	"php", "lua", "luajit", "Rscript", "osascript", "pwsh", "awk", "gawk", "mawk", "sed", "make", "gmake", "just", "java", "run-parts", "tclsh", "expect", "swift", "dotnet", "jq"}

const shells = 7 // of them

func interprets(names []string) bool {
	i := slices.IndexFunc(names, func(n string) bool { return !strings.HasPrefix(n, "-") && !slices.Contains(wrappers, path.Base(n)) })
	return i >= 0 && slices.Contains(interpreters[:shells], path.Base(names[i]))
}

// simple is a command with its words.
func (u *usage) simple(names, texts []string) {
	for len(names) > 0 && (strings.HasPrefix(names[0], "-") || number(names[0])) { // of a wrapper
		names, texts = names[1:], texts[1:]
	}
	if len(names) == 0 {
		return
	}
	program := programOf(names[0])
	u.names = append(u.names, used{name: names[0], runs: true})
	switch {
	case slices.Contains([]string{"read", "mapfile", "readarray", "getopts", "printf", "export", "local", "declare", "typeset", "readonly", "let", "unset"}, program):
		u.sets(texts[1:])
	case program == "cd" || program == "pushd":
		u.dirs = append(u.dirs, names[len(names)-1])
		return
	case program == "eval" || program == "trap":
		u.text(strings.Join(texts[1:], " "))
	case slices.Contains(interpreters, program):
		u.interpreter(program, names[1:], texts[1:])
	case slices.Contains(wrappers, program):
		u.wrapper(program, names[1:], texts[1:])
	}
	u.reads(names[0], program, texts[1:])
	looks := u.looksInto(program, names[1:])
	for i, n := range names[1:] {
		u.operand(n, looks)
		if f := texts[i]; f == "-C" || f == "--prefix" || f == "--directory" || f == "--cwd" || f == "--chdir" {
			u.dirs = append(u.dirs, n)
		}
	}
}

// sets is for commands that give variables a value: it is not known.
func (u *usage) sets(texts []string) {
	for _, t := range texts {
		name, _, _ := strings.Cut(t, "=")
		u.assign(strings.TrimSuffix(name, "+"), any1)
		u.assign(strings.TrimSuffix(name, "+"), any1)
	}
}

// operand is a word that is given to a program, and whether it runs what it finds in
// directories.
func (u *usage) operand(n string, looks bool) {
	u.names = append(u.names, used{name: n, dir: looks})
	if name, value, ok := strings.Cut(n, "="); ok {
		u.variables(name, value)
	}
}

func number(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.smhd") == "" && s[0] >= '0' && s[0] <= '9'
}

// wrapper: what follows it is a command, behind options and variables.
func (u *usage) wrapper(program string, names, texts []string) {
	if program == "find" || program == "fd" {
		i := slices.IndexFunc(texts, func(s string) bool {
			return slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}, s)
		})
		if i < 0 {
			return
		}
		names, texts = names[i+1:], texts[i+1:]
	}
	for len(names) > 0 && (strings.HasPrefix(names[0], "-") || strings.Contains(names[0], "=") || slices.Contains([]string{"run", "exec", "x", "dlx", "--"}, names[0])) {
		names, texts = names[1:], texts[1:]
	}
	if (program == "xargs" || program == "parallel") && len(names) > 0 && slices.Contains(interpreters[:shells], path.Base(names[0])) {
		u.unnamed = true
	}
	if !u.wrapped { // by the outermost one, for all
		u.wrapped = true
		defer func() { u.wrapped = false }()
		u.behind(names, texts)
	}
	u.simple(names, texts)
}

// behind looks for interpreters that stand behind the value of an option of a wrapper,
// where that value looks like the program: uv run --with x sh y.
func (u *usage) behind(names, texts []string) {
	for i := range names {
		if program := path.Base(names[i]); i > 0 && slices.Contains(interpreters, program) {
			u.interpreter(program, names[i+1:], texts[i+1:])
		}
	}
}

// interpreter: the first word that is no option is what it runs.
func (u *usage) interpreter(program string, names, texts []string) {
	isShell := slices.Contains(interpreters[:shells], program)
	for len(names) > 0 && (program == "bun" || program == "deno") && slices.Contains([]string{"run", "x", "exec", "test", "task", "eval"}, names[0]) {
		names, texts = names[1:], texts[1:]
	}
	for i, n := range names {
		switch {
		case isShell && strings.HasPrefix(n, "-") && !strings.HasPrefix(n, "--") && strings.Contains(n, "c"):
			if i+1 < len(texts) {
				u.text(texts[i+1])
				if strings.Contains(names[i+1], any1) {
					u.unnamed = true
				}
			}
			return
		case slices.Contains([]string{"-e", "-c", "-p", "-E", "--eval", "--print"}, n), slices.Contains([]string{"awk", "gawk", "mawk", "sed", "jq"}, program):
			if i+1 < len(texts) && n != "-p" {
				u.imports(texts[i+1])
			}
			return // a program in the line itself, which people see; its words are looked at
		case n == "-m" && i+1 < len(names):
			mod := strings.ReplaceAll(names[i+1], ".", "/")
			u.script(mod)
			return
		case strings.HasPrefix(n, "-"):
			if len(n) > 2 && n[1] != '-' { // with its value: -r./x.js, -mx
				u.script(n[2:])
			}
			continue
		default:
			if u.script(n); program == "run-parts" {
				u.names = append(u.names, used{name: n + "/" + any1, runs: true})
			}
			return
		}
	}
}
