package hook

import (
	"path"
	"slices"
	"strings"
)

// run judges a command with its arguments.
func (l *look) run(args []string, in string) {
	if l.spent() {
		return
	}
	if args = l.unwrap(args); len(args) == 0 {
		return
	}
	name := program(args[0])
	if !known(args[0]) || name == "" {
		l.unknownCommand(args, in)
		return
	}
	rest := args[1:]
	if verb, ok := strings.CutPrefix(name, "git-"); ok {
		name, rest = "git", append([]string{verb}, rest...)
	}
	if strings.HasPrefix(name, "mkfs") {
		name = "mke2fs"
	}
	if strings.Contains(args[0], "/") && l.fetched[l.sh.abs(args[0])] {
		l.find(Ask, "pipe-to-shell", "This downloads something and runs it at once, unseen.")
	}
	name = matched(name)
	for _, r := range rules {
		if slices.Contains(r.names, name) {
			r.judge(l, name, rest, in)
		}
	}
}

// program is the name of a command without its directory.
func program(arg string) string {
	name := path.Base(arg)
	if name == "." && arg != "." || name == "/" || strings.HasSuffix(arg, "/") {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSuffix(name, ".exe"), "=") // zsh: =rm is its path
}

// matched is the command that a pattern in the place of one is made for, if a rule knows
// it: /bin/r?.
func matched(name string) string {
	if !strings.ContainsAny(name, "*?[") {
		return name
	}
	for _, r := range rules {
		for _, n := range r.names {
			if ok, err := path.Match(name, n); ok && err == nil {
				return n
			}
		}
	}
	return name
}

// unknownCommand is one whose name is not known.
func (l *look) unknownCommand(args []string, in string) {
	if fromNetwork(args[0]) {
		l.find(Deny, "pipe-to-shell", remoteReason)
		return
	}
	if bare := strings.ReplaceAll(args[0], unset, ""); bare != args[0] && known(bare) {
		// As if the variables in it were empty: $SUDO rm, r${x}m.
		rest := args[1:]
		if bare != "" {
			rest = append([]string{bare}, rest...)
		}
		if len(rest) > 0 {
			l.run(rest, in)
		}
	}
	// What would it be as the one thing that its arguments are made for?
	trial := *l
	trial.verdict = Verdict{}
	for _, guess := range []string{"rm", "chmod", "git"} {
		trial.run(append([]string{guess}, args[1:]...), in)
	}
	if trial.verdict.Decision != Pass {
		l.find(Ask, "unknown", "It is not known which command this runs, and its arguments look as if it did something that cannot be taken back.")
	}
}

// wrapper is a command that does nothing but run another.
type wrapper struct {
	takes string // options that have a value
	skip  int    // operands before the command
	word  string // by which it is told to run one
}

var wrappers = map[string]wrapper{
	"command": {}, "builtin": {}, "exec": {takes: "a"}, "nohup": {}, "setsid": {}, "nice": {takes: "n"}, "ionice": {takes: "cnpPu"}, "env": {takes: "uC"},
	"timeout": {takes: "ks", skip: 1}, "time": {takes: "fo"}, "stdbuf": {takes: "ioe"}, "chrt": {skip: 1}, "taskset": {skip: 1},
	"strace": {takes: "eopsuSEPaIObX"}, "ltrace": {takes: "eopsuSEanl"}, "unbuffer": {}, "busybox": {}, "toybox": {}, "catchsegv": {},
	"noglob": {}, "nocorrect": {}, "unshare": {takes: "SGRw"}, "setpriv": {}, "prlimit": {},
	"caffeinate": {takes: "tw"}, "arch": {}, "linux64": {}, "linux32": {}, "setarch": {skip: 1}, "faketime": {takes: "f", skip: 1}, "eatmydata": {},
	"proxychains": {takes: "f"}, "proxychains4": {takes: "f"}, "torsocks": {}, "firejail": {}, "dbus-run-session": {}, "xvfb-run": {takes: "efnsp"},
	"systemd-inhibit": {}, "systemd-run": {takes: "pMEuH"}, "chronic": {}, "ts": {}, "rlwrap": {}, "npx": {takes: "pc"}, "bunx": {takes: "pc"}, "pnpx": {takes: "pc"},
	"ssh-agent": {}, "cgexec": {takes: "g"}, "numactl": {takes: "NmCi"}, "chroot": {skip: 1}, "runuser": {takes: "ug"}, "bwrap": {}, "fakeroot": {},
	"direnv": {word: "exec", skip: 1}, "mise": {word: "exec"}, "uv": {word: "run"}, "poetry": {word: "run"}, "pipenv": {word: "run"},
}

// unwrap returns the command inside of those that only run it.
func (l *look) unwrap(args []string) []string {
	for len(args) > 0 && known(args[0]) {
		name := program(args[0])
		w, ok := wrappers[name]
		switch {
		case !ok:
			return args
		case name == "command" && option(args[1:], "vV", ""):
			return append([]string{"which"}, operands(args[1:], "")...)
		case name == "env":
			args = split(args)
		}
		rest := operandsFrom(args[1:], w.takes)
		if w.word != "" {
			if len(rest) == 0 || rest[0] != w.word {
				return nil
			}
			rest = operandsFrom(rest[1:], "")
		}
		rest = rest[min(w.skip, len(rest)):]
		for len(rest) > 0 && (name == "env" && (rest[0] == "-" || strings.Contains(rest[0], "=")) || name == "mise" && (rest[0] == "--" || strings.Contains(rest[0], "@"))) {
			rest = rest[1:]
		}
		args = rest
	}
	return args
}

// split is for env -S, which makes words of a text.
func split(args []string) []string {
	for i, a := range args {
		for _, option := range []string{"--split-string=", "--split-string", "-S"} {
			if text, ok := strings.CutPrefix(a, option); ok {
				return append(append([]string{"env"}, strings.Fields(text)...), strings.Fields(strings.Join(args[i+1:], " "))...)
			}
		}
	}
	return args
}
