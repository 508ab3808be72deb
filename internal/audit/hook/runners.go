package hook

import (
	"slices"
	"strings"
)

// What follows are the commands that run others, or change how the line goes on.

const remoteReason = "This runs what comes from the network, or out of a decoder, unseen. Save it to a file, read it, then run the file."

func cd(l *look, _ string, args []string, _ string) {
	args = operands(args, "")
	switch {
	case len(args) == 0:
		l.sh.dir = l.sh.where.Home
	case args[0] == "-" || args[0] == "":
		l.sh.dir = some
	case !known(args[0]) && !strings.HasPrefix(args[0], unset):
		l.sh.dir = some
	case !known(args[0]):
		l.sh.dir = unset
	default:
		l.sh.dir = l.sh.abs(args[0])
	}
}

func popd(l *look, _ string, _ []string, _ string) { l.sh.dir = l.sh.where.Dir }

func eval(l *look, _ string, args []string, in string) { l.script(strings.Join(args, " "), in) }

func source(l *look, _ string, args []string, in string) {
	if args = operands(args, ""); len(args) > 0 {
		l.script(l.contents(args[0], in), in)
	}
}

func trap(l *look, _ string, args []string, in string) {
	if args = operands(args, ""); len(args) > 1 {
		l.script(args[0], in)
	}
}

func alias(l *look, _ string, args []string, _ string) {
	for _, a := range args {
		if _, text, ok := strings.Cut(a, "="); ok {
			l.script(text, "")
		}
	}
}

// reads is read NAME and its like: the variable holds what comes in.
func reads(l *look, _ string, args []string, in string) {
	for _, name := range operands(args, "pdnNtuacCOs") {
		if l.sh.set(name, strings.TrimRight(in, "\n")); in == "" {
			l.sh.set(name, some)
		}
	}
}

// stdin is a command that runs what it reads.
func stdin(l *look, _ string, _ []string, in string) { l.script(in, "") }

// joined is a command whose words are a text for a shell.
func joined(l *look, _ string, args []string, in string) {
	l.script(strings.Join(operandsFrom(args, "nd"), " "), in)
}

// dashC is a command that runs what follows -c, or stands before one.
func dashC(l *look, _ string, args []string, in string) {
	for i, a := range args {
		if (strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") || a == "--command") && i+1 < len(args) {
			l.script(args[i+1], in)
			return
		}
	}
	if rest := operandsFrom(args, "wE"); len(rest) > 1 {
		l.run(rest[1:], in)
	}
}

// typed is a command that types its arguments into a shell.
func typed(l *look, _ string, args []string, _ string) {
	for i, a := range args {
		if strings.ContainsAny(a, " \n") {
			l.script(a, "")
		} else if !strings.HasPrefix(a, "-") && len(args) > i+1 {
			l.script(strings.Join(args[i:], " "), "")
		}
	}
}

// sh is a shell: it runs the text after -c, a file, or what it reads.
func sh(l *look, _ string, args []string, in string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "--"):
		case len(a) > 1 && a[0] == '-' && strings.Contains(a, "c"):
			if rest := operandsFrom(args[i+1:], "oO"); len(rest) > 0 {
				l.inShell(rest[0], in)
			}
			if fromNetwork(in) && len(args) == i+1 { // xargs sh -c
				l.inShell(in, "")
			}
			return
		case len(a) > 1 && a[0] == '-' && strings.Contains(a, "s"):
			l.inShell(in, "")
			return
		case len(a) > 0 && (a[0] == '-' || a[0] == '+'):
			if value(a, "oO") {
				i++
			}
		default:
			if content := l.contents(a, in); content == remote && !strings.HasPrefix(a, "/dev/") {
				l.find(Ask, "pipe-to-shell", "This downloads something and runs it at once, unseen.")
			} else {
				l.inShell(content, in)
			}
			return
		}
	}
	l.inShell(in, "")
}

// inShell is code in a shell of its own, which has the variables of this one.
func (l *look) inShell(code, in string) { l.apart(func() { l.script(code, in) }) }

// xargs runs a command with what it reads.
func xargs(l *look, name string, args []string, in string) {
	takes := "IinLlPsdaE"
	if name == "parallel" {
		takes = "IjnSNa"
	}
	cmd := operandsFrom(args, takes)
	if i := slices.Index(cmd, ":::"); i >= 0 {
		in, cmd = strings.Join(cmd[i+1:], "\n"), cmd[:i]
	}
	if len(cmd) == 0 {
		return
	}
	given := strings.Fields(strings.NewReplacer("'", "", "\"", "").Replace(in))
	if !known(in) || len(given) == 0 || len(given) > maxFields {
		given = []string{hidden(in)}
	}
	mark := "{}"
	if i := slices.Index(args, "-I"); i >= 0 && i+1 < len(args) {
		mark = args[i+1]
	}
	one, replaced := slices.Clone(cmd), false
	for i, c := range cmd {
		one[i] = strings.ReplaceAll(c, mark, given[0])
		replaced = replaced || one[i] != c
	}
	if !replaced {
		one = append(one, given...)
	}
	l.run(one, "")
}

// findFiles is find: where it starts, what it picks, what it does.
func findFiles(l *look, _ string, args []string, _ string) {
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-H" || a == "-L" || a == "-P" })
	first := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") || a == "(" || a == "!" })
	if first < 0 {
		return
	}
	starts, tests := args[:first], args[first:]
	if first == 0 {
		starts = []string{"."}
	}
	picks := slices.ContainsFunc(tests, func(t string) bool { return slices.Contains(pickers, strings.TrimLeft(t, "-")) })
	if slices.Contains(tests, "-delete") {
		l.swept(starts, picks)
	}
	for i, a := range tests {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a) || i+1 >= len(tests) {
			continue
		}
		cmd := tests[i+1:]
		if end := slices.IndexFunc(cmd, func(s string) bool { return s == ";" || s == "+" }); end >= 0 {
			cmd = cmd[:end]
		}
		l.executes(starts, picks, cmd)
	}
}

// pickers are tests that leave something out.
var pickers = strings.Fields("name iname path ipath wholename regex iregex mtime mmin newer size empty atime ctime cmin amin user perm samefile links newermt")

// swept is all that is found, and removed.
func (l *look) swept(starts []string, picks bool) {
	for _, s := range starts {
		switch level := l.sh.reaches(s); {
		case level == little || picks && l.sh.within(s):
		case picks || level == perhaps:
			l.find(Ask, "rm", "This removes what it finds below "+say(s)+".")
		default:
			l.find(Deny, "rm", "This removes all below "+say(s)+".")
		}
	}
}

// executes runs a command for what is found.
func (l *look) executes(starts []string, picks bool, cmd []string) {
	if len(cmd) > 0 && slices.Contains([]string{"rm", "unlink", "shred"}, program(cmd[0])) {
		l.swept(starts, picks)
		return
	}
	for _, s := range starts {
		if picks {
			s += "/" + some
		}
		one := slices.Clone(cmd)
		for i := range one {
			one[i] = strings.ReplaceAll(one[i], "{}", s)
		}
		if len(one) > 0 {
			l.run(one, "")
		}
	}
}

// fd is a find of another make: -x and -X run a command.
func fd(l *look, _ string, args []string, _ string) {
	i := slices.IndexFunc(args, func(a string) bool { return slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, a) })
	if i >= 0 && i+1 < len(args) {
		l.run(append(slices.Clone(args[i+1:]), some), "")
	}
}
