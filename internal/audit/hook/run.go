package hook

import (
	"path"
	"slices"
	"strings"
)

// run follows a command with its arguments, and returns what it prints.
func (w *walk) run(args []string, stdin string) string {
	if w.steps++; w.steps > maxSteps {
		w.tooMuch(w.line)
		return string(some)
	}
	if out, ok := w.call(args[0], args[1:], stdin); ok {
		return out
	}
	name := program(args[0])
	if !known(args[0]) || name == "" {
		return w.unknownCommand(args, stdin)
	}
	if strings.ContainsAny(args[0], "\x01\x02\x03") {
		name = matched(name)
	}
	rest := args[1:]
	if verb, ok := strings.CutPrefix(name, "git-"); ok {
		name, rest = "git", append([]string{verb}, rest...)
	}
	if strings.HasPrefix(name, "mkfs") {
		name = "mke2fs"
	}
	if inner, ok := w.unwrap(name, rest); ok {
		if len(inner) == 0 {
			return hidden(stdin)
		}
		return w.run(inner, stdin)
	}
	if f := special[name]; f != nil {
		return f(w, name, rest, stdin)
	}
	for _, rule := range rules {
		if rule.applies(name) {
			rule.judge(w, name, rest)
		}
	}
	if content, ok := w.files[w.abs(args[0])]; ok && strings.Contains(args[0], "/") {
		return w.executed(content, stdin)
	}
	return w.prints(name, rest, stdin)
}

// program is the name of a command without its directory. A pattern in the place of
// a command is whatever it may match: only what is plain is known.
func program(arg string) string {
	name := path.Base(literal(arg))
	if name == "." && arg != "." || name == "/" || strings.HasSuffix(arg, "/") {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(name, ".exe"), "=") // zsh: =rm is its path
}

// matched is the command that a pattern in the place of one is made for, if a rule knows
// it: /bin/r?.
func matched(pattern string) string {
	for _, r := range rules {
		for _, name := range r.names {
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return name
			}
		}
	}
	return pattern
}

// unknownCommand is one whose name is not known.
func (w *walk) unknownCommand(args []string, stdin string) string {
	if fromNetwork(args[0]) {
		w.find(Deny, "pipe-to-shell", "This runs what comes from the network, unseen. Save it to a file, read it, then run the file.")
		return string(remote)
	}
	if bare := strings.ReplaceAll(args[0], string(unset), ""); bare != args[0] && known(bare) {
		// As if the variables in it were empty: $SUDO rm, r${x}m.
		rest := args[1:]
		if bare != "" {
			rest = append([]string{bare}, rest...)
		}
		if len(rest) > 0 {
			w.run(rest, stdin)
		}
	}
	// What would it be as the one thing that its arguments are made for?
	trial := *w
	trial.verdict = Verdict{}
	for _, guess := range []string{"rm", "chmod", "git"} {
		trial.run(append([]string{guess}, args[1:]...), stdin)
	}
	if trial.verdict.Decision != Pass {
		w.find(Ask, "unknown", "It is not known which command this runs, and its arguments look as if it did something that cannot be taken back.")
	}
	return hidden(stdin)
}

// executed follows the content of a file that was made in this line.
func (w *walk) executed(content, stdin string) string {
	if fromNetwork(content) {
		w.find(Ask, "pipe-to-shell", "This downloads something and runs it at once, unseen.")
		return string(remote)
	}
	if known(content) {
		return w.script(content, stdin)
	}
	return hidden(stdin)
}

// special are the commands that run others, or change how the line goes on.
var special map[string]func(w *walk, name string, args []string, stdin string) string

func init() {
	special = map[string]func(*walk, string, []string, string) string{
		"cd": (*walk).cd, "pushd": (*walk).cd, "popd": (*walk).popd,
		"eval": (*walk).eval, "source": (*walk).source, ".": (*walk).source, "trap": (*walk).trap, "alias": (*walk).alias,
		"read": (*walk).reads, "mapfile": (*walk).reads, "readarray": (*walk).reads, "set": (*walk).set, "unset": (*walk).unsets,
		"xargs": (*walk).xargs, "parallel": (*walk).xargs, "find": (*walk).findFiles, "fd": (*walk).fd, "fdfind": (*walk).fd,
		"watch": (*walk).joined, "script": (*walk).dashC, "flock": (*walk).dashC, "git": (*walk).git, "tee": (*walk).tee,
		"export": (*walk).declared, "declare": (*walk).declared, "typeset": (*walk).declared, "local": (*walk).declared, "readonly": (*walk).declared,
		"npx": (*walk).runner, "bunx": (*walk).runner, "pnpx": (*walk).runner, "make": (*walk).maker, "gmake": (*walk).maker,
	}
	for _, at := range []string{"at", "batch"} {
		special[at] = func(w *walk, _ string, _ []string, stdin string) string { return w.inShell(stdin, nil, "") }
	}
	for _, mux := range []string{"tmux", "screen", "zellij"} {
		special[mux] = (*walk).typed
	}
	for _, sh := range []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash", "yash", "csh", "tcsh"} {
		special[sh] = (*walk).shell
	}
	for _, lang := range []string{"python", "python2", "python3", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "pypy3", "pwsh", "awk", "gawk", "mawk", "nawk", "osascript", "Rscript", "tclsh"} {
		special[lang] = (*walk).interpreter
	}
}

func (w *walk) cd(_ string, args []string, _ string) string {
	args = operands(args, "")
	switch {
	case len(args) == 0:
		w.dir = w.where.Home
	case !known(args[0]) || args[0] == "-" || args[0] == "":
		if strings.HasPrefix(args[0], string(unset)) {
			w.dir = string(unset)
		} else {
			w.dir = string(some)
		}
	default:
		w.dir = w.abs(args[0])
	}
	return ""
}

func (w *walk) popd(string, []string, string) string {
	w.dir = w.where.Dir
	return ""
}

func (w *walk) eval(_ string, args []string, stdin string) string {
	return w.script(strings.Join(args, " "), stdin)
}

func (w *walk) source(_ string, args []string, stdin string) string {
	if args = operands(args, ""); len(args) == 0 {
		return ""
	}
	return w.code(w.contents(args[0]), stdin)
}

// code follows what a shell is given to read: a text, or something from a network.
func (w *walk) code(content, stdin string) string {
	if content == string(some) || content == string(unset) {
		return hidden(stdin)
	}
	return w.script(content, stdin)
}

func (w *walk) trap(_ string, args []string, stdin string) string {
	if args = operands(args, ""); len(args) > 1 {
		w.script(args[0], stdin)
	}
	return ""
}

func (w *walk) alias(_ string, args []string, _ string) string {
	for _, a := range args {
		if _, text, ok := strings.Cut(a, "="); ok {
			w.script(text, "")
		}
	}
	return ""
}

// reads is read NAME and its like: the variable holds what comes in.
func (w *walk) reads(_ string, args []string, stdin string) string {
	for _, name := range operands(args, "pdnNtuacCOs") {
		w.vars[name] = []string{strings.TrimRight(stdin, "\n")}
		if stdin == "" {
			w.vars[name] = []string{string(some)}
		}
	}
	return ""
}

func (w *walk) set(_ string, args []string, _ string) string {
	if i := slices.Index(args, "--"); i >= 0 {
		w.args = slices.Clone(args[i+1:])
	} else if len(args) > 0 && !strings.HasPrefix(args[0], "-") && !strings.HasPrefix(args[0], "+") {
		w.args = slices.Clone(args)
	}
	if len(args) > 1 && args[0] == "+o" && args[1] == "history" {
		w.find(Deny, "history", historyReason)
	}
	return ""
}

func (w *walk) unsets(_ string, args []string, _ string) string {
	for _, name := range operands(args, "") {
		w.historyVariable(name, nil)
		delete(w.vars, name)
	}
	return ""
}

// declared is export and its kin: assignments were read already, but for those that
// came out of an expansion.
func (w *walk) declared(_ string, args []string, _ string) string {
	for _, a := range args {
		if name, v, ok := strings.Cut(a, "="); ok {
			w.historyVariable(name, []string{v})
			w.vars[name] = []string{v}
		}
	}
	return ""
}

func (w *walk) joined(_ string, args []string, stdin string) string {
	return w.script(strings.Join(operandsFrom(args, "nd"), " "), stdin)
}

// dashC is a command that runs what follows -c, or stands before one.
func (w *walk) dashC(_ string, args []string, stdin string) string {
	for i, a := range args {
		if strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") && i+1 < len(args) || a == "--command" && i+1 < len(args) {
			return w.script(args[i+1], stdin)
		}
		if code, ok := strings.CutPrefix(a, "--command="); ok {
			return w.script(code, stdin)
		}
	}
	if rest := operandsFrom(args, "wE"); len(rest) > 1 {
		return w.run(rest[1:], stdin)
	}
	return hidden(stdin)
}

// typed is a command that types its arguments into a shell.
func (w *walk) typed(_ string, args []string, stdin string) string {
	for i, a := range args {
		if strings.ContainsAny(a, " \n") {
			w.script(a, "")
		} else if known(a) && len(args) > i+1 && a[:min(1, len(a))] != "-" {
			w.script(strings.Join(args[i:], " "), "")
		}
	}
	return hidden(stdin)
}

func (w *walk) runner(_ string, args []string, stdin string) string {
	if rest := operandsFrom(args, "pc"); len(rest) > 0 {
		return w.run(rest, stdin)
	}
	return hidden(stdin)
}

// maker looks at variables of make that are commands.
func (w *walk) maker(_ string, args []string, stdin string) string {
	for _, a := range args {
		if name, v, ok := strings.Cut(a, "="); ok && name == "SHELL" && scary(v) {
			w.find(Ask, "unknown", "This makes make run another shell than its own.")
		}
	}
	return hidden(stdin)
}

func (w *walk) tee(_ string, args []string, stdin string) string {
	for _, name := range operands(args, "") {
		w.opened(name)
		w.overwritten(name)
		w.write(name, stdin, false)
	}
	return stdin
}
