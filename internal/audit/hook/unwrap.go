package hook

import (
	"slices"
	"strings"
)

// wrapper is a command that does nothing but run another.
type wrapper struct {
	takes string // options that have a value
	skip  int    // operands before the command
}

var wrappers = map[string]wrapper{
	"command": {}, "builtin": {}, "exec": {takes: "a"}, "nohup": {}, "setsid": {}, "nice": {takes: "n"}, "ionice": {takes: "cnpPu"},
	"timeout": {takes: "ks", skip: 1}, "time": {takes: "fo"}, "stdbuf": {takes: "ioe"}, "chrt": {skip: 1}, "taskset": {skip: 1},
	"strace": {takes: "eopsuSEPaIObX"}, "ltrace": {takes: "eopsuSEanl"}, "unbuffer": {}, "busybox": {}, "toybox": {}, "catchsegv": {},
	"coproc": {}, "noglob": {}, "nocorrect": {}, "then": {}, "do": {}, "else": {}, "unshare": {takes: "SGRw"}, "setpriv": {}, "prlimit": {},
	"caffeinate": {takes: "tw"}, "arch": {}, "linux64": {}, "linux32": {}, "setarch": {skip: 1}, "faketime": {takes: "f", skip: 1}, "eatmydata": {},
	"proxychains": {takes: "f"}, "proxychains4": {takes: "f"}, "torsocks": {}, "firejail": {}, "dbus-run-session": {}, "xvfb-run": {takes: "efnsp"},
	"systemd-inhibit": {}, "systemd-run": {takes: "pMEuH"}, "chronic": {}, "ts": {}, "rlwrap": {}, "direnv": {}, "mise": {}, "uv": {}, "poetry": {}, "pipenv": {},
	"ssh-agent": {}, "cgexec": {takes: "g"}, "numactl": {takes: "NmCi"}, "chroot": {skip: 1}, "runuser": {takes: "ug"}, "bwrap": {}, "fakeroot": {},
}

// sub are the words by which some of them are told to run a command.
var sub = map[string]string{"direnv": "exec", "mise": "exec", "uv": "run", "poetry": "run", "pipenv": "run"}

// unwrap returns the command inside of one that only runs it.
func (w *walk) unwrap(name string, args []string) ([]string, bool) {
	if name == "env" {
		return w.env(args), true
	}
	wr, ok := wrappers[name]
	if !ok {
		return nil, false
	}
	if name == "command" && option(args, "vV", "") {
		return append([]string{"which"}, operands(args, "")...), true
	}
	if word := sub[name]; word != "" {
		return after(args, word), true
	}
	rest := operandsFrom(args, wr.takes)
	for range wr.skip {
		if len(rest) > 0 {
			rest = rest[1:]
		}
	}
	return rest, true
}

// after is what follows a word, without options.
func after(args []string, word string) []string {
	rest := operandsFrom(args, "C")
	if len(rest) == 0 || rest[0] != word {
		return nil
	}
	rest = operandsFrom(rest[1:], "")
	if word == "exec" && len(rest) > 1 && strings.HasPrefix(rest[0], ".") {
		rest = rest[1:]
	}
	for len(rest) > 0 && strings.Contains(rest[0], "@") {
		rest = rest[1:] // mise exec node@20 -- CMD
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return rest
}

// env sets what it sets, and returns the command.
func (w *walk) env(args []string) []string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "-S" || a == "--split-string":
			if i+1 < len(args) {
				return append(strings.Fields(args[i+1]), args[i+2:]...)
			}
		case strings.HasPrefix(a, "-S"):
			return append(strings.Fields(a[2:]), args[i+1:]...)
		case strings.HasPrefix(a, "--split-string="):
			return append(strings.Fields(a[len("--split-string="):]), args[i+1:]...)
		case a == "--" || a == "-":
			continue
		case len(a) > 1 && a[0] == '-':
			if value(a, "uC") {
				i++
			}
		case strings.Contains(a, "="):
			name, v, _ := strings.Cut(a, "=")
			w.vars[name] = []string{v}
		default:
			return args[i:]
		}
	}
	return nil
}

// shell is sh and its kin.
func (w *walk) shell(name string, args []string, stdin string) string {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--" || a == "-":
			return w.shellFile(args[i+1:], stdin)
		case a == "--rcfile" || a == "--init-file":
			if i++; i < len(args) {
				w.code(w.contents(args[i]), "")
			}
		case strings.HasPrefix(a, "--command"):
			return w.shellCode(append([]string{strings.TrimPrefix(strings.TrimPrefix(a, "--command"), "=")}, args[i+1:]...), stdin)
		case strings.HasPrefix(a, "--"):
		case len(a) > 1 && (a[0] == '-' || a[0] == '+'):
			if a[0] == '-' && strings.IndexByte(a, 'c') > 0 {
				return w.shellCode(operandsFrom(args[i+1:], "oO"), stdin)
			}
			if a[0] == '-' && strings.IndexByte(a, 's') > 0 {
				return w.inShell(stdin, args[i+1:], "")
			}
			if strings.HasSuffix(a, "o") || strings.HasSuffix(a, "O") {
				i++
			}
		default:
			return w.shellFile(args[i:], stdin)
		}
	}
	return w.shellFile(nil, stdin)
}

// shellCode is sh -c CODE NAME ARGS.
func (w *walk) shellCode(args []string, stdin string) string {
	if len(args) == 0 {
		return hidden(stdin)
	}
	var rest []string
	if len(args) > 2 {
		rest = args[2:]
	}
	return w.inShell(args[0], rest, stdin)
}

// shellFile is sh FILE ARGS, or sh alone, which reads what it is given.
func (w *walk) shellFile(args []string, stdin string) string {
	if len(args) == 0 {
		return w.inShell(stdin, nil, "")
	}
	content := w.contents(args[0])
	if fromNetwork(content) && !strings.HasPrefix(args[0], "/dev/") && !strings.HasPrefix(args[0], "/proc/") {
		return w.executed(content, stdin)
	}
	return w.inShell(content, args[1:], stdin)
}

// inShell follows code in a shell of its own.
func (w *walk) inShell(code string, args []string, stdin string) string {
	dir, vars, was := w.dir, w.vars, w.args
	w.vars = map[string][]string{}
	for k, v := range vars {
		w.vars[k] = v
	}
	w.args = append([]string{}, args...)
	out := w.code(code, stdin)
	w.dir, w.vars, w.args = dir, vars, was
	return out
}

// interpreter is a language that runs code: what is in its quotes may be a command.
func (w *walk) interpreter(name string, args []string, stdin string) string {
	code, given := "", false
	lang := strings.TrimRight(name, "0123456789")
	for i := 0; i < len(args) && !given; i++ {
		a := args[i]
		switch {
		case strings.HasSuffix(lang, "awk"):
			if a == "-f" || a == "-v" || a == "-F" {
				i++
			} else if !strings.HasPrefix(a, "-") {
				code, given = a, true
			}
		case a == "eval" && (name == "deno" || name == "bun"):
		case a == "-" || a == "/dev/stdin":
			code, given = stdin, true
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && endsInCode(lang, a) && i+1 < len(args):
			code, given = args[i+1], true
		case (a == "--eval" || a == "--print" || a == "--run" || a == "-Command") && i+1 < len(args):
			code, given = args[i+1], true
		case strings.HasPrefix(a, "-"):
			given = a == "-m"
		default:
			given = true
			if c := w.contents(a); c != string(some) {
				code = c
			}
		}
	}
	if !given {
		code = stdin
	}
	w.language(code)
	return hidden(stdin)
}

// endsInCode holds for the options that are followed by code.
func endsInCode(lang, option string) bool {
	switch lang {
	case "perl", "ruby", "lua", "Rscript", "osascript":
		return strings.HasSuffix(option, "e") || strings.HasSuffix(option, "E")
	case "node", "nodejs", "bun":
		return strings.HasSuffix(option, "e") || strings.HasSuffix(option, "p")
	case "php":
		return strings.HasSuffix(option, "r")
	}
	return strings.HasSuffix(option, "c")
}

// What code of other languages calls to remove trees, and to run commands.
var (
	removers = strings.Fields("rmtree rmSync rm_rf removedirs remove_tree rimraf RemoveAll rmdirSync")
	runners  = strings.Fields("system exec popen Popen subprocess spawn child_process qx shell `")
)

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

// language judges code of another language by the texts in it.
func (w *walk) language(code string) {
	if code == string(remote) {
		w.find(Deny, "pipe-to-shell", "This runs what comes from the network, unseen. Save it to a file, read it, then run the file.")
		return
	}
	if len(code) > 16<<10 {
		code = code[:16<<10]
	}
	texts := strings.FieldsFunc(code, func(r rune) bool { return r == '"' || r == '\'' || r == '`' })
	removes, runs := containsAny(code, removers), containsAny(code, runners)
	if !removes && !runs {
		return
	}
	for i, text := range texts {
		trial := &walk{line: text, where: w.where, dir: w.dir, vars: map[string][]string{}, funcs: w.funcs, files: w.files, heads: w.heads, calls: w.calls + 1, steps: w.steps}
		if runs && i%2 == 1 {
			trial.script(text, "")
		}
		if removes && i%2 == 1 && len(text) < 4096 && trial.reaches(trial.tilde(patterns(text))) == much {
			trial.find(Deny, "rm", "This removes "+say(text)+" and all below it.")
		}
		w.steps = max(w.steps, trial.steps)
		if trial.verdict.Decision != Pass {
			w.find(Ask, trial.verdict.Rule, "This code seems to do what a command may not: "+trial.verdict.Reason)
		}
	}
}

// xargs runs a command with what it reads.
func (w *walk) xargs(name string, args []string, stdin string) string {
	takes := "IinLlPsdaE"
	if name == "parallel" {
		takes = "IjnSNa"
	}
	cmd := operandsFrom(args, takes)
	if i := indexOf(cmd, ":::"); i >= 0 {
		stdin, cmd = strings.Join(cmd[i+1:], "\n"), cmd[:i]
	}
	if len(cmd) == 0 {
		if name == "parallel" {
			return w.inShell(stdin, nil, "")
		}
		return hidden(stdin)
	}
	given := strings.Fields(strings.NewReplacer("'", "", "\"", "", "\x1a", " ").Replace(stdin))
	if !known(stdin) || len(given) == 0 || len(given) > maxFields {
		given = []string{hidden(stdin)}
	}
	if mark := replaced(args, name); mark != "" {
		out := ""
		for _, g := range given {
			one := make([]string, len(cmd))
			for i, c := range cmd {
				one[i] = strings.ReplaceAll(c, mark, g)
			}
			out += w.run(one, "")
		}
		return out
	}
	return w.run(append(append([]string{}, cmd...), given...), "")
}

// replaced is what xargs puts each line in the place of.
func replaced(args []string, name string) string {
	for i, a := range args {
		switch {
		case a == "-I" && i+1 < len(args):
			return args[i+1]
		case strings.HasPrefix(a, "-I") && len(a) > 2:
			return a[2:]
		case a == "-i" || a == "--replace":
			return "{}"
		case name == "parallel" && strings.Contains(a, "{}"):
			return "{}"
		case len(a) > 0 && a[0] != '-':
			if name != "parallel" {
				return ""
			}
		}
	}
	return ""
}

func indexOf(args []string, what string) int {
	for i, a := range args {
		if a == what {
			return i
		}
	}
	return -1
}
